//! What docs/testing.md shows of the kits for values is a part of tests that run: in Go, TypeScript and Python with their
//! SDKs' own tests. Rust's is a documentation test.

use std::fs;

use super::Page;

const SHOWN: [(&str, &str); 3] = [
    ("go", "sdk/go/boathooktest/values_test.go"),
    ("js", "sdk/js/test/values.test.mjs"),
    ("python", "sdk/python/tests/test_values_of_docs.py"),
];

#[test]
fn code_about_values_is_a_part_of_tests() {
    let page = Page::read("docs/testing.md");
    for (language, file) in SHOWN {
        let test = fs::read_to_string(file).unwrap();
        let blocks: Vec<_> = page.blocks().into_iter().filter(|block| block.info == language).collect();
        assert!(!blocks.is_empty(), "no block of {language}");
        for block in blocks {
            assert!(test.contains(&block.text), "{}:{}: {file} has another text", page.path.display(), block.line);
        }
    }
}
