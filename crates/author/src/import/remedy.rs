//! What an author can do about something that a hook does not have.

/// The remedy for a problem of an interpreter, if there is a known one. The problem begins with the name of the command.
pub fn remedy(problem: &str) -> Option<&'static str> {
    let (command, rest) = problem.split_once(':')?;
    if !rest.starts_with(" there is no such command") && !rest.starts_with(" a hook has no network") {
        return None;
    }
    Some(match command {
        "curl" | "wget" | "nc" | "ncat" => {
            "a hook calls only the API server: move the request to a Job that the hook creates"
        }
        "helm" | "helmfile" => {
            "render the chart when you build the bundle, and `kubectl apply -f` the manifests beside the hook"
        }
        "python" | "python3" | "node" | "ruby" | "perl" => {
            "write the hook in another language (`boathook new --lang python`), or this part with jq"
        }
        "docker" | "podman" | "crictl" | "ssh" | "git" => "do it in a Job that the hook creates",
        "openssl" => "create certificates with cert-manager, or in a Job that the hook creates",
        "apt-get" | "apk" | "pip" | "pip3" | "yum" => "remove it: a hook needs no packages",
        _ => "remove it, or write a function with this name",
    })
}

#[cfg(test)]
mod tests {
    use super::remedy;

    #[test]
    fn a_command_that_is_missing_has_a_remedy() {
        let helm = remedy("helm: there is no such command in a hook");
        assert!(helm.is_some_and(|remedy| remedy.contains("render the chart")));
        assert!(remedy("curl: a hook has no network").is_some_and(|remedy| remedy.contains("a Job")));
        assert!(remedy("frobnicate: there is no such command in a hook").is_some_and(|it| it.contains("function")));
        assert_eq!(remedy("coproc is not supported: use a pipe or a file"), None);
    }
}
