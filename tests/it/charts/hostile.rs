//! Charts that loop, grow or recurse without end are stopped, each with its own error, and the next chart renders.

use std::time::{Duration, Instant};

use boathook_sandbox::{ChartConfig, RenderError, Sandbox, SandboxConfig};
use tempfile::tempdir;

use super::{bounds, left_out, rendered, request, sandbox_with, small, template};

/// What a chart is refused with.
async fn limit(charts: ChartConfig, text: &str) -> String {
    let sandbox = sandbox_with(charts);
    let begin = Instant::now();
    let error = rendered(&sandbox, request(template(text))).await.unwrap_err();
    assert!(begin.elapsed() < Duration::from_secs(300), "{error}");
    let after = rendered(&sandbox, request(template("a: {{ .Release.Name }}"))).await.unwrap();
    assert_eq!(after.manifests[0].text, "a: rel");
    match error {
        RenderError::Limit(text) => text,
        other => panic!("{other:?}"),
    }
}

// mutant: crates/sandbox/src/charts/instance.rs: `if ours.cpu_time() >= cpu_time {` => `if false {`
#[tokio::test]
async fn a_chart_that_loops_is_ended_at_its_cpu_time() {
    if left_out().await {
        return;
    }
    let text = "{{ range until 60000 }}{{ range until 60000 }}{{ end }}{{ end }}a: b";
    let short = ChartConfig { cpu_time: Duration::from_secs(2), ..bounds() };
    let error = limit(short, text).await;
    assert!(error.starts_with("the chart needs more than 2s of CPU time: "), "{error}");
}

// mutant: crates/sandbox/src/charts/instance.rs: `memory: MemoryMeter::new(config.memory, room.clone()),` => `memory: MemoryMeter::new(u64::MAX, room.clone()),`
#[tokio::test]
async fn a_chart_that_grows_is_ended_at_its_memory() {
    if left_out().await {
        return;
    }
    let text = "{{ $a := \"aaaaaaaa\" }}{{ range until 40 }}{{ $a = print $a $a }}{{ end }}a: {{ $a }}";
    let error = limit(bounds(), text).await;
    assert!(error.starts_with("the chart needs more than 256Mi of memory: "), "{error}");
}

// mutant: crates/sandbox/src/charts/instance.rs: `store.set_hostcall_fuel(config.output);` => `store.set_hostcall_fuel(usize::MAX);`
#[tokio::test]
async fn a_chart_that_renders_too_much_is_refused() {
    if left_out().await {
        return;
    }
    let text = "{{ range until 2000 }}a{{ . }}: {{ repeat 1000 \"x\" }}\n{{ end }}";
    let error = limit(ChartConfig { output: 1 << 20, ..bounds() }, text).await;
    assert!(error.starts_with("the chart needs more than 1Mi for what it renders"), "{error}");
}

/// Helm allows a thousand levels of one template, and Go's own templates have a bound, too.
#[tokio::test]
async fn deep_recursion_ends_with_an_error_of_the_chart() {
    if left_out().await {
        return;
    }
    let sandbox = sandbox_with(bounds());
    let error = |text: &'static str| {
        let sandbox = &sandbox;
        async move { rendered(sandbox, request(template(text))).await.unwrap_err() }
    };
    for (text, wanted) in [
        ("{{ define \"r\" }}{{ include \"r\" . }}{{ end }}{{ include \"r\" . }}", "nested reference name: r"),
        ("{{ define \"r\" }}{{ template \"r\" . }}{{ end }}{{ template \"r\" . }}", "exceeded maximum template depth"),
    ] {
        match error(text).await {
            RenderError::Chart(why) => assert!(why.contains(wanted), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    // Helm's own library has no bound here: it ends with the process. Here it is the chart's error.
    let error =
        error("{{ define \"r\" }}{{ tpl \"{{ include \\\"r\\\" . }}\" . }}{{ end }}{{ include \"r\" . }}").await;
    assert!(matches!(error, RenderError::Chart(_) | RenderError::Limit(_)), "{error:?}");
}

#[tokio::test]
async fn a_chart_reads_no_file_and_no_variable_of_the_host() {
    if left_out().await {
        return;
    }
    let sandbox = sandbox_with(bounds());
    let one = rendered(
        &sandbox,
        request(template("a: {{ .Files.Get \"/etc/passwd\" | quote }}{{ getHostByName \"localhost\" }}")),
    )
    .await;
    assert_eq!(one.unwrap().manifests[0].text, "a: \"\"");
    let error = rendered(&sandbox, request(template("a: {{ env \"HOME\" }}"))).await.unwrap_err();
    assert!(error.to_string().contains("function \"env\" not defined"), "{error}");
}

#[tokio::test]
async fn a_missing_engine_says_how_to_get_it() {
    let folder = tempdir().unwrap();
    let sandbox = Sandbox::new(SandboxConfig { interpreters: vec![folder.path().to_owned()], ..small() }).unwrap();
    let error = rendered(&sandbox, request(template("a: b"))).await.unwrap_err().to_string();
    assert!(error.contains("helm-VERSION.wasm") && error.contains("make interpreters"), "{error}");
    assert!(error.contains(folder.path().to_str().unwrap()), "{error}");
}
