//! Bodies of reviews, of admission and of conversion: whatever comes, it is read or refused.
#![no_main]

use boathook::webhook::{AdmissionReview, ConversionReview, conversion_problems};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    if let Ok(review) = AdmissionReview::parse(body) {
        assert!(!review.request.uid.is_empty() && body.len() >= review.request.json.len());
    }
    if let Ok(review) = ConversionReview::parse(body, "xs.example.com") {
        let objects: Vec<_> = review.request.objects.iter().map(|object| object.json.as_str()).collect();
        let _ = conversion_problems(&review.request.desired, &objects, &objects);
    }
});
