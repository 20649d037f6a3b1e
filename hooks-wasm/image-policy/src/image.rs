//! Which registry an image comes from, and whether a list of places allows it.
//!
//! Pure.

/// An image with its registry: `nginx` is `docker.io/library/nginx`.
pub fn full_name(image: &str) -> String {
    match image.split_once('/') {
        Some((host, _)) if host.contains(['.', ':']) || host == "localhost" => image.to_owned(),
        Some(_) => format!("docker.io/{image}"),
        None => format!("docker.io/library/{image}"),
    }
}

/// Whether one of the places allows the image. A place is a registry, a registry and the beginning of a path, or `*`;
/// what follows `#` is a comment.
pub fn is_allowed(image: &str, places: &str) -> bool {
    let name = full_name(image);
    places.lines().map(|line| line.split('#').next().unwrap_or_default().trim()).any(|place| {
        let place = place.trim_end_matches('/');
        let rest = name.strip_prefix(place).filter(|_| !place.is_empty());
        place == "*"
            || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '@', ':']) && ends(place, rest))
    })
}

/// A colon behind a registry begins its port, one behind a path a tag.
fn ends(place: &str, rest: &str) -> bool {
    rest.starts_with('/') || place.contains('/')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn an_image_without_a_registry_is_from_the_hub() {
        for (image, full) in [
            ("nginx", "docker.io/library/nginx"),
            ("nginx:1.29", "docker.io/library/nginx:1.29"),
            ("team/web@sha256:00", "docker.io/team/web@sha256:00"),
            ("localhost/web", "localhost/web"),
            ("registry:5000/web", "registry:5000/web"),
            ("registry.example.com/web", "registry.example.com/web"),
        ] {
            assert_eq!(full_name(image), full);
        }
    }

    #[test]
    fn a_place_allows_what_lies_in_it() {
        let places = "registry.example.com/team/ # ours\n\n  mirror.example.com\nhost.example.com:5000/web\n";
        for (image, allowed) in [
            ("registry.example.com/team/web:1", true),
            ("registry.example.com/team", true),
            ("registry.example.com/team:1", true),
            ("registry.example.com/teams/web", false),
            ("registry.example.com/other", false),
            ("mirror.example.com/a/b/c@sha256:00", true),
            ("mirror.example.com.evil.test/a", false),
            ("mirror.example.com:5000/a", false),
            ("host.example.com:5000/web:1", true),
            ("nginx", false),
        ] {
            assert_eq!(is_allowed(image, places), allowed, "{image}");
        }
        assert!(is_allowed("nginx", "docker.io/library") && is_allowed("x/y", "*") && !is_allowed("x/y", "# none\n"));
    }
}
