//! The corpus of the fuzz target, run through what the target runs.

use std::{fs, path::Path};

use boathook_operator::webhook::{AdmissionReview, ConversionReview};

#[test]
fn nothing_of_the_corpus_does_harm() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/review");
    let (mut files, mut reviews, mut conversions) = (0, 0, 0);
    for entry in fs::read_dir(corpus).unwrap() {
        let body = fs::read(entry.unwrap().path()).unwrap();
        files += 1;
        reviews += usize::from(AdmissionReview::parse(&body).is_ok());
        conversions += usize::from(ConversionReview::parse(&body, "xs.example.com").is_ok());
    }
    assert!(files >= 10 && reviews >= 3 && conversions >= 1, "{files} files, {reviews}, {conversions}");
}
