//! The stretch of a document that has the most n-grams of a text.

use std::collections::VecDeque;

/// The distinct n-grams of a text, sorted.
pub(super) struct Grams<'t> {
    n: usize,
    sorted: Vec<&'t [u32]>,
}

/// Part of a document, in folded characters, and the number of a text's distinct n-grams that it has.
#[derive(Clone, Copy)]
pub(super) struct Stretch {
    pub(super) grams: usize,
    pub(super) begin: usize,
    pub(super) end: usize,
}

impl<'t> Grams<'t> {
    pub(super) fn new(text: &'t [u32], n: usize) -> Self {
        let mut sorted: Vec<_> = text.windows(n).collect();
        sorted.sort_unstable();
        sorted.dedup();
        Self { n, sorted }
    }

    pub(super) fn len(&self) -> usize {
        self.sorted.len()
    }

    /// The first stretch of at most `longest` characters with the most n-grams, at least `needed` and more than
    /// `before` has; only those near `places`, which ascend.
    pub(super) fn best_stretch(
        &self,
        document: &[u32],
        places: impl Iterator<Item = usize>,
        longest: usize,
        needed: usize,
        before: Option<Stretch>,
    ) -> Option<Stretch> {
        let mut best = before;
        let mut window = Window::new(self.len());
        let mut next = 0;
        for place in places {
            let begin = (place + self.n).saturating_sub(longest);
            if begin > next {
                window.clear();
                next = begin;
            }
            let end = (place + longest).min(document.len());
            while next + self.n <= end {
                if let Ok(gram) = self.sorted.binary_search(&&document[next..next + self.n]) {
                    let found = window.take(next, gram, self.n, longest);
                    if found.grams >= needed && best.is_none_or(|best| found.grams > best.grams) {
                        best = Some(found);
                    }
                }
                next += 1;
            }
        }
        best
    }
}

/// The shortest stretch that ends where the document was read to, and has as many distinct n-grams as any.
struct Window {
    places: VecDeque<(usize, usize)>,
    counts: Vec<u32>,
    distinct: usize,
}

impl Window {
    fn new(grams: usize) -> Self {
        Self { places: VecDeque::new(), counts: vec![0; grams], distinct: 0 }
    }

    fn clear(&mut self) {
        self.places.clear();
        self.counts.fill(0);
        self.distinct = 0;
    }

    /// Adds an n-gram of the text that begins at `place`.
    fn take(&mut self, place: usize, gram: usize, n: usize, longest: usize) -> Stretch {
        self.places.push_back((place, gram));
        self.distinct += usize::from(self.counts[gram] == 0);
        self.counts[gram] += 1;
        while let Some(&(first, its)) = self.places.front()
            && (self.counts[its] > 1 || place + n - first > longest)
        {
            self.counts[its] -= 1;
            self.distinct -= usize::from(self.counts[its] == 0);
            self.places.pop_front();
        }
        let begin = self.places.front().map_or(place, |&(first, _)| first);
        Stretch { grams: self.distinct, begin, end: place + n }
    }
}
