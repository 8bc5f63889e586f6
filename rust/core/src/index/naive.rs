//! The obvious way: search every answer. The oracle that tests hold the index to.

/// Answers of each source.
pub type Sources = Vec<(String, Vec<String>)>;

/// Code-point offsets of `pattern` in `answer`, overlapping ones included.
pub fn offsets(answer: &str, pattern: &str) -> Vec<usize> {
    let (answer, pattern): (Vec<char>, Vec<char>) = (answer.chars().collect(), pattern.chars().collect());
    (0..(answer.len() + 1).saturating_sub(pattern.len()))
        .filter(|&offset| answer[offset..offset + pattern.len()] == pattern[..])
        .collect()
}

/// Occurrences in all answers.
pub fn count(sources: &Sources, pattern: &str) -> usize {
    sources.iter().flat_map(|(_, answers)| answers).map(|answer| offsets(answer, pattern).len()).sum()
}

/// Number of answers of each source that contain `pattern`.
pub fn document_frequency(sources: &Sources, pattern: &str) -> Vec<u32> {
    sources.iter().map(|(_, answers)| answers.iter().filter(|answer| answer.contains(pattern)).count() as u32).collect()
}
