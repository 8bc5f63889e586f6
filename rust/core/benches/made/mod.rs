//! Made answers and responses, the same on every machine: sentences of a small grammar, some words swapped.

use pfgen_core::SourceText;

const SUBJECTS: [&str; 12] = [
    "光合成",
    "富士山",
    "東京タワー",
    "新幹線",
    "徳川家康",
    "お好み焼き",
    "日本の憲法",
    "二酸化炭素",
    "地球の自転",
    "紫式部",
    "ラムネ",
    "将棋",
];
const OBJECTS: [&str; 10] = [
    "植物の働き",
    "多くの人々",
    "長い歴史",
    "高い技術",
    "水と光",
    "古い町並み",
    "春の行事",
    "国の制度",
    "海と山",
    "物語",
];
const VERBS: [&str; 8] = [
    "を支えています",
    "に関わります",
    "で知られています",
    "から作られます",
    "を指す言葉です",
    "と呼ばれます",
    "に由来します",
    "を変えました",
];
const LINKS: [&str; 6] = ["また、", "そのため、", "一方で、", "なお、", "「", ""];

/// Pseudorandom numbers (SplitMix64).
pub(crate) struct Made(u64);

impl Made {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % end as u64) as usize
    }

    fn word<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    /// About a hundred characters, as answers to one question are: mostly about the same subject. Every fourth sentence
    /// or so has a character that is not in the grammar.
    pub(crate) fn answer(&mut self) -> String {
        let subject = SUBJECTS[self.below(3)];
        let mut answer = String::new();
        while answer.chars().count() < 90 {
            answer += self.word(&LINKS);
            answer += if self.below(3) == 0 { self.word(&SUBJECTS) } else { subject };
            answer += ["は", "が", "とは"][self.below(3)];
            answer += self.word(&OBJECTS);
            if self.below(4) == 0 {
                answer.push(self.rare());
            }
            answer += self.word(&VERBS);
            answer += "。";
        }
        answer
    }

    /// One of 800 characters, the first ones far more often.
    fn rare(&mut self) -> char {
        let rank = (0..3).map(|_| self.below(800)).min().unwrap_or(0);
        char::from_u32(0x4e00 + rank as u32).unwrap_or('一')
    }

    pub(crate) fn answers(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.answer()).collect()
    }
}

/// `sources` of 1,000 answers each.
pub(crate) fn sources(sources: usize) -> Vec<Vec<String>> {
    let mut made = Made::new(1);
    (0..sources).map(|_| made.answers(1000)).collect()
}

/// As the crate takes them.
pub(crate) fn borrowed(sources: &[Vec<String>]) -> Vec<SourceText<'_>> {
    let answers = |answers| <&Vec<String>>::into_iter(answers).map(String::as_str).collect();
    sources.iter().zip(["P", "S", "T"]).map(|(source, name)| SourceText { name, answers: answers(source) }).collect()
}
