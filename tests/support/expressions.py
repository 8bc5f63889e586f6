"""Regular expressions of Python, by whether `linear_expression` translates them, and texts for them."""

from __future__ import annotations

import re

from hypothesis import strategies as st

SAME_PATTERNS = r"""
a \。 \\ \n \t \x41 \u3042 \U0001F600 \- . \d \D \w \W \s \S [ab] [^ab] [a-z] []a] [^]a] [a-]
[-a] [\w-] [^\d\s] [\b] [\]\\^] [a^] [a&&b] [[a] [a||b] [.$] (a) (?:a|b) (?P<name>a) a|b a| (|a)
() a* a+ a? a{2} a{2,} a{,2} a{1,2} a*? a+? a?? a{1,2}? a{0} a{00,1} (ab)+ (?:a|bc)*?b ^a \Aa a^
a\Z a$ a|b$ (?:a|(b$)) ^$ (a+)+$ (a|aa)+$ (?:\d+年)?\d+月 ] } [^\x00-\U0010FFFF] [^\w\W]a
[^\ud7ff\ue000] [^\ue000-\uffff\x00-\ud7ff] [\s\S] (a*)(b*)$ (?:a?b)+ \0 \012 [\0] [\012] \N{BULLET}
(?#c)a a{,} a{ {a a{} a{b} a{1,2,} (?P<n>a|(?:ab))$ ab|ac|ad$ (?:a|a$) [a~~b]
"""
OTHER_PATTERNS = r"""
(?i)a (?i:a) (?s). (?m)^a (?a:\w) (?=a) (?!a) (?<=a)b (?<!a)b (a)\1 (?P<n>a)(?P=n) (a)?(?(1)b|c)
(?>a) a++ a{2}+ \ba \Ba \ud800 [\ud800-\udfff] [a-\ud800] [^\ud800] a$b
(a$)? (?:a$)b $\n (a*)* (a?)+ (a|)*? (^)* (?:a*|b){2} (?:(a?))? (?s:.) (?-i:a)
((?:a{1000}){100}){100}
"""
SAME = SAME_PATTERNS.split()
OTHER = [*OTHER_PATTERNS.split(), "(?x) a", "(" * 60 + "a" + ")" * 60]
TEXTS = [
    "",
    *["a", "b", "ab", "ba", "aab", "xa", "あ", "a。", "]a^-&|"],
    "a\n",
    "ab\n\n",
    "\na",
    "xa\nb\n",
    "A\\ \x08😀{}",
]

CHARACTERS = st.sampled_from("ab\n。あ]-^&|")
SINGLE = st.one_of(
    CHARACTERS.map(re.escape),
    st.sampled_from(
        [".", r"\d", r"\w", r"\s", r"\W", "[^a]", "[a-z]", "[]あ]", r"[^\w\n]", "[^-b]", r"\u3042"]
    ),
)
REPEATED = st.sampled_from(
    ["*", "+", "?", "{2}", "{,2}", "{1,}", "{1,3}", "*?", "+?", "??", "{1,2}?", "{2,}?"]
)
PARTS = st.recursive(
    st.one_of(
        SINGLE, st.builds("{}{}".format, SINGLE, REPEATED), st.sampled_from(["^", r"\A", r"\Z"])
    ),
    lambda part: st.builds(
        "{}{}{}){}".format,
        st.sampled_from(["(", "(?:"]),
        st.lists(st.lists(part, max_size=3).map("".join), min_size=1, max_size=3).map("|".join),
        st.sampled_from(["", "$", "a"]),
        st.one_of(st.just(""), REPEATED),
    ),
    max_leaves=12,
)
EXPRESSIONS = st.builds(
    "{}{}".format, st.lists(PARTS, max_size=4).map("".join), st.sampled_from(["", "$"])
)
LINES = st.text(st.sampled_from("aab\n。あc1 ]-^&|"), max_size=12)
