//! Results of renderings, by the digest of their requests. The ones that were used last stay.

use std::{collections::HashMap, sync::Arc};

use super::Rendered;

pub(super) struct Remembered {
    all: HashMap<[u8; 32], Entry>,
    most: usize,
    bytes: usize,
    /// Counts uses.
    now: u64,
}

struct Entry {
    rendered: Arc<Rendered>,
    bytes: usize,
    used: u64,
}

impl Remembered {
    pub(super) fn new(most: usize) -> Self {
        Self { all: HashMap::new(), most, bytes: 0, now: 0 }
    }

    pub(super) fn get(&mut self, key: &[u8; 32]) -> Option<Arc<Rendered>> {
        self.now += 1;
        let entry = self.all.get_mut(key)?;
        entry.used = self.now;
        Some(entry.rendered.clone())
    }

    /// Keeps a result, unless it alone is larger than all results may be.
    pub(super) fn put(&mut self, key: [u8; 32], rendered: &Arc<Rendered>) {
        let bytes = rendered.bytes();
        if bytes > self.most {
            return;
        }
        self.now += 1;
        let entry = Entry { rendered: rendered.clone(), bytes, used: self.now };
        self.bytes += bytes;
        if let Some(before) = self.all.insert(key, entry) {
            self.bytes -= before.bytes;
        }
        while self.bytes > self.most {
            let oldest = self.all.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| *key);
            let Some(entry) = oldest.and_then(|key| self.all.remove(&key)) else { return };
            self.bytes -= entry.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(bytes: usize) -> Arc<Rendered> {
        Arc::new(Rendered { notes: "a".repeat(bytes), ..Rendered::default() })
    }

    #[test]
    fn what_was_used_last_stays() {
        let mut remembered = Remembered::new(100);
        remembered.put([1; 32], &rendered(40));
        remembered.put([2; 32], &rendered(40));
        assert!(remembered.get(&[1; 32]).is_some());
        remembered.put([3; 32], &rendered(50));
        let has = |remembered: &mut Remembered, key| remembered.get(&[key; 32]).is_some();
        assert!(has(&mut remembered, 1) && !has(&mut remembered, 2) && has(&mut remembered, 3));
        remembered.put([3; 32], &rendered(60));
        assert!(has(&mut remembered, 1) && has(&mut remembered, 3), "it was replaced");
        remembered.put([4; 32], &rendered(101));
        assert!(!has(&mut remembered, 4) && has(&mut remembered, 1));
    }
}
