"""What a gate found, for pull requests (Markdown) and for CI systems (JUnit XML)."""

from xml.etree import ElementTree as ET

from pfgen_rs.gating import Gate
from pfgen_rs.io.text import inert, visible
from pfgen_rs.stats.estimates import Estimate

_MARKS = {"pass": "✅", "drop": "❌", "rise": "❌", "cannot tell": "⚠️"}
_OUTCOMES = {"pass": "system-out", "cannot tell": "skipped"}


def gate_markdown(gate: Gate) -> str:
    """Returns a section for a comment or a summary: verdict, scores, differences, what fell most.

    Names and questions are untrusted, and nothing in them acts.
    """
    base, new = map(inert, gate.names)
    lines = [
        f"### {_MARKS[gate.verdict]} pfgen: {gate.verdict}\n",
        f"| | base: {base} | new: {new} | difference | |",
        "| --- | --- | --- | --- | --- |",
    ]
    for each in gate.decisions:
        scores = f"{_score(each.base)} | {_score(each.new)}"
        lines.append(f"| {each.metric} | {scores} | {each.bounds} | {each.verdict} |")
    lines += ["", *(f"- {sentence}" for sentence in gate.sentence.splitlines()), ""]
    if rows := gate.fell_most():
        lines += ["| fell most | base | new | difference |", "| --- | --- | --- | --- |"]
    for row in rows:
        question = inert(f"{row['question_id']} {row['question']}")
        means = f"{row['base']:.4f} | {row['new']:.4f} | {row['difference']:+.4f}"
        lines.append(f"| {question} | {means} |")
    return "\n".join([*lines, "", f"<sub>{inert(gate.signature or '')}</sub>", ""])


def _score(estimate: Estimate) -> str:
    return f"{estimate.mean:.4f} ({estimate.low:.3f} to {estimate.high:.3f})"


def gate_junit(gate: Gate) -> bytes:
    """Returns JUnit XML: a suite with a case for each metric.

    A drop is a failure, and "cannot tell" a skipped test, both with the sentence. What XML lacks in
    names is shown as codes.
    """
    base, new = (visible(name).translate({0xFFFE: "?", 0xFFFF: "?"}) for name in gate.names)
    outcomes = [_OUTCOMES.get(decision.verdict, "failure") for decision in gate.decisions]
    root = ET.Element("testsuites")
    suite = ET.SubElement(root, "testsuite", name="pfgen-rs gate", errors="0", time="0")
    suite.set("tests", str(len(outcomes)))
    suite.set("failures", str(outcomes.count("failure")))
    suite.set("skipped", str(outcomes.count("skipped")))
    for decision, outcome in zip(gate.decisions, outcomes, strict=True):
        name = f"{decision.metric}: {new} vs {base}"
        case = ET.SubElement(suite, "testcase", classname="pfgen", name=name, time="0")
        said = ET.SubElement(case, outcome)
        said.text = decision.sentence  # which GitLab shows, and Jenkins the attribute
        if decision.verdict != "pass":
            said.set("message", decision.sentence)
            said.set("type", decision.verdict)
    ET.indent(root)
    return b"%b\n" % ET.tostring(root, "utf-8", xml_declaration=True)
