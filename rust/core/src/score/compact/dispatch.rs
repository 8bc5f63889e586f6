//! The same code for several instruction sets, chosen when running.

use std::sync::OnceLock;

/// Instructions that the hot path may use; the results are the same with all. Made only for processors that have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstructionSet(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// What every processor of the target has.
    Portable,
    /// 256-bit vectors.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512-bit vectors.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl InstructionSet {
    /// Those that this processor has, the best last.
    pub fn available() -> Vec<Self> {
        #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))] // other processors have no more
        let mut kinds = vec![Kind::Portable];
        #[cfg(target_arch = "x86_64")]
        kinds.extend(x86::available());
        kinds.into_iter().map(Self).collect()
    }

    /// Its name, as the environment variable `PFGEN_RS_INSTRUCTIONS` knows it.
    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
        }
    }

    /// The best that this processor has, or the one that `PFGEN_RS_INSTRUCTIONS` names if it has that.
    pub fn chosen() -> Self {
        static CHOSEN: OnceLock<InstructionSet> = OnceLock::new();
        *CHOSEN.get_or_init(|| {
            let sets = Self::available();
            let wanted = std::env::var("PFGEN_RS_INSTRUCTIONS").unwrap_or_default();
            let named = sets.iter().find(|set| set.name() == wanted);
            *named.or(sets.last()).unwrap_or(&Self(Kind::Portable))
        })
    }
}

/// Plain code that is compiled for each instruction set: what `run` calls must become part of it.
pub(super) trait Work {
    /// Does the work; must always be inlined.
    fn run(self);
}

/// Does `work` with the instructions of `set`.
#[allow(unsafe_code)] // functions for an instruction set may be called only where the processor has it
pub(super) fn run(set: InstructionSet, work: impl Work) {
    match set.0 {
        Kind::Portable => work.run(),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: sets are made by `available` only, which asked the processor.
        Kind::Avx2 => unsafe { x86::with_avx2(work) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Kind::Avx512 => unsafe { x86::with_avx512(work) },
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Kind, Work};

    pub(super) fn available() -> Vec<Kind> {
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        let avx512 = avx2
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        let kinds = [(avx2, Kind::Avx2), (avx512, Kind::Avx512)];
        kinds.into_iter().filter(|(here, _)| *here).map(|(_, kind)| kind).collect()
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn with_avx2(work: impl Work) {
        work.run();
    }

    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn with_avx512(work: impl Work) {
        work.run();
    }
}
