//! Bodies of reviews, of admission and of conversion: whatever comes, it is read or refused; and what is read is what a
//! plain reading of the JSON finds there.
#![no_main]

use boathook_operator::webhook::{AdmissionReview, ConversionReview, conversion_problems};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|body: &[u8]| {
    if let Ok(review) = AdmissionReview::parse(body) {
        admission(&review, body);
    }
    if let Ok(review) = ConversionReview::parse(body, "xs.example.com") {
        conversion(&review, body);
    }
});

fn admission(review: &AdmissionReview, body: &[u8]) {
    let request = &review.request;
    assert!(!request.uid.is_empty() && body.len() >= request.json.len());
    // It may be nested too deep, or have numbers that are too large, for a plain reading.
    let Ok(plain) = serde_json::from_slice::<Value>(body) else { return };
    let plain = &plain["request"];
    assert_eq!(plain["uid"], *request.uid);
    assert_eq!(plain["operation"], *request.operation);
    assert_eq!(plain["dryRun"].as_bool().unwrap_or_default(), request.dry_run);
    assert_eq!(!plain["object"].is_null(), request.has_object);
    assert_eq!(serde_json::from_str::<Value>(&request.json).unwrap(), *plain);
}

fn conversion(review: &ConversionReview, body: &[u8]) {
    let objects: Vec<_> = review.request.objects.iter().map(|object| object.json.as_str()).collect();
    // An object that stays as it is can only be of another version than was wanted, or have labels that aren't texts.
    let problems = conversion_problems(&review.request.desired, &objects, &objects);
    assert!(problems.len() <= objects.len());
    let Ok(plain) = serde_json::from_slice::<Value>(body) else { return };
    let plain = &plain["request"];
    assert_eq!(plain["desiredAPIVersion"], *review.request.desired);
    let found: Vec<Value> = objects.iter().map(|object| serde_json::from_str(object).unwrap()).collect();
    assert_eq!(plain["objects"].as_array().cloned().unwrap_or_default(), found);
    for (object, plain) in review.request.objects.iter().zip(&found) {
        assert_eq!(plain["apiVersion"], *object.api_version);
    }
}
