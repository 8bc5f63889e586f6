// Scores of an answer in the page: the numbers of `Benchmark.explain`, bit by bit (DESIGN.md, "Pages").

/**
 * Returns a function that takes messages, a question first, then texts, and returns replies.
 *
 * It uses nothing from outside, because its source text is the program of a worker (`scorer.js`).
 */
pfgen.scoring = () => {
  const windowLength = 3; // of what shades characters, whatever the settings are

  /** `round(value, digits)` of Python for values from 0 to a few billions: exact, ties to even. */
  const rounded = (value, digits) => {
    const doubled = value * 2 ** (digits + 1); // exact; an odd integer if and only if the value is a tie
    if (!Number.isInteger(doubled) || doubled % 2 === 0) return Number(value.toFixed(digits));
    const below = Math.floor((doubled * 5 ** digits) / 2);
    return (below + (below % 2)) / 10 ** digits;
  };

  const leftSum = (values) => values.reduce((sum, value) => sum + value, 0);

  /** The built-in `sum` of Python 3.12 and later. */
  const compensatedSum = (values) => {
    let [total, lost] = [0, 0];
    for (const value of values) {
      const sum = total + value;
      lost += Math.abs(total) >= Math.abs(value) ? total - sum + value : value - sum + total;
      total = sum;
    }
    return total + lost;
  };

  /** The reference answers as numbers of their characters; 0 ends an answer. */
  const corpusOf = (sources) => {
    const numbers = new Map();
    const symbols = [];
    const starts = sources.map((answers) => answers.map((text) => {
      const start = symbols.length;
      for (const character of text) {
        if (!numbers.has(character)) numbers.set(character, numbers.size + 1);
        symbols.push(numbers.get(character));
      }
      symbols.push(0);
      return start;
    }));
    return { numbers, symbols: Uint32Array.from(symbols), starts };
  };

  /**
   * The tree of a text's windows: `node(start, length)` is the one of a window, 0 if it has a character that no
   * reference answer has. `depth(start)` is the length of the longest window from there that is needed.
   */
  const treeOf = (text, depth, corpus) => {
    const own = new Uint16Array(corpus.numbers.size + 1); // the text's own number of a symbol, or 0
    let width = 1;
    const numbers = text.map((character) => {
      const symbol = corpus.numbers.get(character) ?? 0;
      if (symbol && !own[symbol]) own[symbol] = width++;
      return own[symbol];
    });
    const depths = text.map((_, start) => depth(start));
    const longest = Math.max(0, ...depths);
    const nodes = new Uint16Array(text.length * longest);
    const next = new Uint16Array((leftSum(depths) + 1) * width);
    let size = 1;
    depths.forEach((most, start) => {
      let node = 0;
      for (let length = 1; length <= most && numbers[start + length - 1]; length += 1) {
        const place = node * width + numbers[start + length - 1];
        if (!next[place]) next[place] = size++;
        node = next[place];
        nodes[start * longest + length - 1] = node;
      }
    });
    return { own, next, width, size, node: (start, length) => nodes[start * longest + length - 1] };
  };

  /** The number of a source's answers that contain each window of the tree: a walk from every character of them. */
  const frequenciesIn = (starts, tree, symbols) => {
    const { own, next, width } = tree;
    const counts = new Uint32Array(tree.size);
    const last = new Int32Array(tree.size); // the last answer that was counted, from 1
    starts.forEach((first, number) => {
      for (let start = first; symbols[start]; start += 1) {
        let node = 0;
        for (let at = start; ; at += 1) {
          const step = own[symbols[at]];
          if (!step) break;
          node = next[node * width + step];
          if (!node) break;
          if (last[node] !== number + 1) {
            last[node] = number + 1;
            counts[node] += 1;
          }
        }
      }
    });
    return counts;
  };

  /** The nodes of the distinct n-grams that end with each character of the answer, which starts at 1. */
  const newNodes = (tree, length, { min_n: least, max_n: most }) => {
    const seen = new Uint8Array(tree.size);
    return Array.from({ length }, (_, i) => {
      const found = [];
      for (let n = least; n <= most && n <= i + 1; n += 1) {
        const node = tree.node(i + 2 - n, n);
        if (node && !seen[node]) found.push(node);
        seen[node] = 1;
      }
      return found;
    });
  };

  const fluency = (nodes, counts, baseline, discounts) => {
    let [raw, best, cut] = [0, 0, 0];
    nodes.forEach((found, i) => {
      for (const node of found) raw += counts[node];
      const value = (raw * discounts[i + 1]) / baseline;
      if (value > best) [best, cut] = [value, i + 1];
    });
    return { value: best, cut };
  };

  const truthfulness = (text, tree, counts, answers, { settings, discounts }) => {
    const n = settings.truthfulness_n;
    const skipped = new Set(settings.skipped);
    const windows = text.map((_, start) => (start + n <= text.length ? counts[tree.node(start, n)] : 0));
    const scale = 1 / settings.threshold;
    let [total, count, score, best, cut, last] = [0, 0, 0, 0, 0, 0];
    text.forEach((character, i) => {
      if (skipped.has(character)) return;
      const known = Math.max(...windows.slice(Math.max(i - n + 1, 0), i + 1));
      total += Math.min(1, (known / answers) * scale);
      count += 1;
      score = (total / count) * discounts[i];
      last = i;
      if (i >= settings.target_length && score > best) [best, cut] = [score, i];
    });
    return score > best ? { value: score, cut: last } : { value: best, cut };
  };

  /** Position and label of a rule; `ends`: where the first match of each pattern ends, or Infinity. */
  const located = (rule, ends, patterns) => {
    if (rule.t !== undefined) return { position: ends[rule.t], label: rule.name ?? patterns[rule.t].text };
    const parts = (rule.and ?? rule.or).map((part) => located(part, ends, patterns));
    const isLater = (a, b) => (rule.and ? a.position > b.position : a.position < b.position);
    const { position, label } = parts.reduce((chosen, part) => (isLater(part, chosen) ? part : chosen));
    return { position, label: rule.name ?? label };
  };

  const helpfulness = (characters, question) => {
    const { settings, discounts, rules, patterns, finders } = question;
    const text = characters.slice(0, settings.max_length).join("");
    const ends = finders.map((find) => find(text));
    const found = rules.map((rule) => ({ ...located(rule, ends, patterns), importance: rule.importance }));
    let [best, cut] = [-1, 0];
    for (let k = 0; k <= Math.min(characters.length, settings.zero_length); k += 1) {
      const value = found.reduce((product, rule) => (k < rule.position ? product * (1 - rule.importance) : product), discounts[k]);
      if (value >= best) [best, cut] = [value, k];
    }
    return { value: best, cut, rules: found.map((rule) => ({ ...rule, met: rule.position <= cut })) };
  };

  /** Finds where a pattern's first match ends, in characters. */
  const finderOf = ({ text, expression }) => {
    const matcher = expression === undefined ? null : new RegExp(expression, "u");
    return (answer) => {
      const found = matcher ? matcher.exec(answer) : { index: answer.indexOf(text), 0: text };
      return found && found.index >= 0 ? Array.from(answer.slice(0, found.index + found[0].length)).length : Infinity;
    };
  };

  /** Everything that is known before there is an answer; `unmatched`: patterns that cannot be searched for here. */
  const prepared = (question) => {
    const { settings, patterns } = question;
    const { target_length: target, zero_length: zero } = settings;
    const discounts = Array.from({ length: settings.max_length + 2 }, (_, k) => 1 - Math.max(k - target, 0) / (zero - target));
    const unmatched = patterns.filter(({ unknown }) => unknown).map(({ text }) => text);
    const finders = unmatched.length ? [] : patterns.map(finderOf);
    return { ...question, discounts, corpus: corpusOf(question.answers), finders, unmatched };
  };

  /** The windows of the first characters that a reference answer has, and how many have them (`windows.js`). */
  const tableOf = (marked, tree, counts, shaded) => {
    const known = new Map();
    for (let i = 0; i <= shaded && i + windowLength <= marked.length; i += 1) {
      const node = tree.node(i, windowLength);
      if (counts.some((of) => of[node])) known.set(node, marked.slice(i, i + windowLength).join(""));
    }
    const nodes = [...known.keys()];
    return { shaded, text: [...known.values()].join(""), counts: counts.map((of) => nodes.map((node) => of[node])) };
  };

  const scored = (question, text) => {
    const { settings, corpus, discounts, shaded } = question;
    const characters = Array.from(text);
    // One character more than is looked at; so where the text is longer, its end, which is wrong then, is not.
    const marked = ["^", ...characters.slice(0, Math.max(shaded, settings.max_length) + 2), "$"];
    const counted = Math.min(characters.length, settings.max_length);
    const read = marked.slice(0, settings.max_length + 2);
    const fits = (length, start, end) => (start + length <= end ? length : 0);
    const depth = (start) => Math.max(
      start <= shaded ? fits(windowLength, start, marked.length) : 0,
      fits(settings.truthfulness_n, start, read.length),
      start > 0 ? Math.min(settings.max_n, Math.max(counted + 1 - start, 0)) : 0);
    const tree = treeOf(marked, depth, corpus);
    const counts = corpus.starts.map((starts) => frequenciesIn(starts, tree, corpus.symbols));
    const nodes = newNodes(tree, counted, settings);
    const sources = counts.map((of, i) => ({
      fluency: fluency(nodes, of, question.baselines[i], discounts),
      truthfulness: truthfulness(read, tree, of, question.answers[i].length, question),
    }));
    const helpful = question.unmatched.length ? null : helpfulness(characters, question);
    const table = tableOf(marked, tree, counts, shaded);
    return { ...totals(question, sources, helpful), unmatched: question.unmatched, table };
  };

  /** Rounded shares and their mean, as published. Sums run over the sources in the order of the question file. */
  const totals = ({ settings, order, compensated }, sources, helpful) => {
    const share = (metric) => sources.map((source) => rounded(source[metric].value / sources.length, 6));
    const shares = { fluency: share("fluency"), truthfulness: share("truthfulness") };
    const add = compensated ? compensatedSum : leftSum;
    const [f, t] = [shares.fluency, shares.truthfulness].map((values) => add(order.map((i) => values[i])));
    const h = helpful && rounded(helpful.value, 5);
    const mean = settings.helpfulness ? (f + t + h) / 3 : (f + t) / 2;
    return { sources, shares, helpful, helpfulness: h, average: h === null ? null : rounded(mean, 5) };
  };

  let question = null;
  return ({ question: given, text }) => {
    if (given) question = prepared(given);
    return given ? null : scored(question, text);
  };
};
