// The signs of permutation tests: those that `pfgen_rs.stats.permutation` draws from numpy's generator with the same seed
// (SeedSequence and PCG64, M. E. O'Neill, "PCG: A family of simple fast space-efficient statistically good algorithms for
// random number generation" (2014)), so that page and command line count the same flips.
(() => {
  const atOnce = 2 ** 20; // numbers in a block, as there
  const limbs = 8; // of 16 bits, the lowest first: numbers of 128 bits
  const limbsOf = (value) => Uint32Array.from({ length: limbs }, (_, i) => Number((value >> BigInt(16 * i)) & 0xffffn));
  const multiplier = limbsOf(0x2360ed051fc65da44385df649fccf645n);

  /** A hash of words of 32 bits whose constant changes with each. */
  const hasher = (initial, factor) => {
    let constant = initial;
    return (word) => {
      const mixed = word ^ constant;
      constant = Math.imul(constant, factor);
      const value = Math.imul(mixed, constant);
      return (value ^ (value >>> 16)) >>> 0;
    };
  };

  const mix = (x, y) => {
    const value = (Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y)) | 0;
    return (value ^ (value >>> 16)) >>> 0;
  };

  /** As many words as asked for from a seed, which is words of 32 bits, too, the lowest first. */
  const seedSequence = (seed, count) => {
    const hash = hasher(0x43b0d7e5, 0x931e8875);
    const pool = Array.from({ length: 4 }, (_, i) => hash(seed[i] ?? 0));
    for (let from = 0; from < 4; from += 1) {
      for (let to = 0; to < 4; to += 1) if (from !== to) pool[to] = mix(pool[to], hash(pool[from]));
    }
    for (const word of seed.slice(4)) {
      for (let to = 0; to < 4; to += 1) pool[to] = mix(pool[to], hash(word));
    }
    const spread = hasher(0x8b51f9dd, 0x58f38ded);
    return Array.from({ length: count }, (_, i) => spread(pool[i % 4]));
  };

  /** state · multiplier + increment, in place; a sum of products stays below 2^53. */
  const step = (state, increment) => {
    let carry = 0;
    const next = new Uint32Array(limbs);
    for (let k = 0; k < limbs; k += 1) {
      let sum = increment[k] + carry;
      for (let i = 0; i <= k; i += 1) sum += state[i] * multiplier[k - i];
      next[k] = sum & 0xffff;
      carry = Math.floor(sum / 65536);
    }
    state.set(next);
  };

  /** The two words of what a state gives: its halves, one upon the other, rotated. */
  const output = (state) => {
    const [low, high] = [0, 2].map((i) => ((state[i] ^ state[i + 4]) | ((state[i + 1] ^ state[i + 5]) << 16)) >>> 0);
    const turn = state[7] >> 10;
    const [a, b] = turn & 32 ? [high, low] : [low, high];
    const by = turn & 31;
    return by === 0 ? [a, b] : [((a >>> by) | (b << (32 - by))) >>> 0, ((b >>> by) | (a << (32 - by))) >>> 0];
  };

  /** A function that returns random words of 32 bits. */
  const generator = (seed) => {
    const words = seedSequence(seed, 8).map(BigInt);
    const [start, stream] = [0, 4].map((i) => (words[i + 1] << 96n) | (words[i] << 64n) | (words[i + 3] << 32n) | words[i + 2]);
    const increment = limbsOf((stream << 1n) | 1n);
    const begun = start + ((stream << 1n) | 1n); // the first step from 0, and the start upon it
    const state = limbsOf(begun & ((1n << 128n) - 1n));
    step(state, increment);
    let left = [];
    return () => {
      if (!left.length) {
        step(state, increment);
        left = output(state);
      }
      return left.shift();
    };
  };

  /** Whether all choices of signs are enumerated. */
  pfgen.flipsAreExact = (questions, permutations) => questions < 63 && 2 ** questions <= permutations;

  /** Yields choices of signs (1, or -1 for a flip) in blocks: `rows` times `questions`. `seed`: words of 32 bits. */
  pfgen.flips = function* flips(questions, permutations, seed) {
    const exact = pfgen.flipsAreExact(questions, permutations);
    const total = exact ? 2 ** questions : permutations;
    const most = Math.max(1, Math.floor(atOnce / questions));
    const random = generator(seed);
    for (let start = 0; start < total; start += most) {
      const rows = Math.min(most, total - start);
      const signs = new Int8Array(rows * questions);
      let word = 0;
      for (let i = 0; i < signs.length; i += 1) {
        if (exact) {
          signs[i] = 1 - 2 * (Math.floor((start + Math.floor(i / questions)) / 2 ** (i % questions)) % 2);
        } else {
          word = i % 4 === 0 ? random() : word >>> 8; // four bytes a word, of which the highest bit counts
          signs[i] = 1 - 2 * ((word >>> 7) & 1);
        }
      }
      yield { rows, signs };
    }
  };
})();
