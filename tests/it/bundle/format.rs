//! What a bundle is made of, and what is refused of others' artifacts.

use boathook_bundle::{
    Annotations, BUNDLE_TYPE, CONFIG_TYPE, DEFINITION_TYPE, Digest, Input, Layout, Place, Policy, Progress, WASM_TYPE,
    look, pack, pull, save, unpack,
};
use serde_json::{Value, json};

use super::{Local, definition, file, hook, version, words};

#[test]
fn the_same_input_in_any_order_is_the_same_bundle() {
    let input = |turn: bool| {
        let mut hooks = vec![hook("a", b"1", "pods"), hook("b", b"2", "pods"), hook("c", b"1", "nodes")];
        let mut files = vec![file("a.md", "a"), file("s.json", "{}")];
        if turn {
            hooks.reverse();
            files.reverse();
        }
        let mut annotations = Annotations::default();
        annotations.set("source", "https://git.example.com/x").unwrap();
        annotations.set("version", "1.2.0").unwrap();
        Input { hooks, files, annotations, ..Input::default() }
    };
    let (one, two) = (pack(input(false)).unwrap(), pack(input(true)).unwrap());
    assert_eq!(one.manifest.digest, two.manifest.digest);
    let other = pack(Input { created: "2026-01-01T00:00:00Z".parse().unwrap(), ..input(false) }).unwrap();
    assert_ne!(one.manifest.digest, other.manifest.digest);
    // Two hooks of one component are one layer.
    let manifest: Value = serde_json::from_slice(&one.bytes).unwrap();
    assert_eq!(manifest["artifactType"], BUNDLE_TYPE);
    assert_eq!(manifest["config"]["mediaType"], CONFIG_TYPE);
    assert_eq!(manifest["layers"].as_array().unwrap().len(), 4);
    assert_eq!(manifest["layers"][0]["mediaType"], WASM_TYPE);
    assert_eq!(
        manifest["annotations"],
        json!({"org.opencontainers.image.created": "1970-01-01T00:00:00Z",
            "org.opencontainers.image.source": "https://git.example.com/x", "org.opencontainers.image.version": "1.2.0"})
    );
}

/// A change of it changes what is signed everywhere.
#[test]
fn the_digest_of_a_known_bundle_stays() {
    let known = pack(Input { hooks: vec![hook("a", b"1", "pods")], ..Input::default() }).unwrap();
    assert_eq!(
        known.manifest.digest.as_str(),
        "sha256:54314169b22825be95f43787681bbdad3df3153c65dffad6ab62b62087c71c94"
    );
}

#[test]
fn what_can_not_be_packed_is_named() {
    let error = |hooks| pack(Input { hooks, ..Input::default() }).unwrap_err().to_string();
    assert!(error(vec![]).contains("no hook"));
    assert!(error(vec![hook("a", b"1", "pods"), hook("a", b"2", "pods")]).contains("\"a\""));
    let many: Vec<_> = (0..501).map(|n| hook(&format!("h{n}"), b"1", "pods")).collect();
    assert!(error(many).contains("501"));
}

#[tokio::test]
async fn a_layout_shows_what_was_packed() {
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path()).unwrap();
    save(&version("v1"), &layout, Some("v1")).unwrap();
    let seen = look(&Place::layout(layout.clone())).await.unwrap();
    assert_eq!(seen.digest, version("v1").manifest.digest);
    let names: Vec<_> = seen.contents.hooks.iter().map(|hook| hook.name.as_str()).collect();
    assert_eq!(names, ["own", "same"]);
    assert_eq!(seen.contents.hooks[0].permissions.as_ref().unwrap()[0].resources, ["secrets"]);
    assert_eq!(seen.contents.files.len(), 1);

    save(&version("v2"), &layout, Some("v2")).unwrap();
    let error = look(&Place::layout(layout)).await.unwrap_err();
    assert!(words(&error).contains("several bundles (v1, v2)"), "{}", words(&error));
    let two = Layout::open(directory.path(), Some("v2")).unwrap();
    assert_eq!(look(&Place::layout(two)).await.unwrap().digest, version("v2").manifest.digest);
    // The same tag again takes the place of the old one.
    save(&version("v3"), &Layout::open(directory.path(), None).unwrap(), Some("v2")).unwrap();
    let two = Layout::open(directory.path(), Some("v2")).unwrap();
    assert_eq!(look(&Place::layout(two)).await.unwrap().digest, version("v3").manifest.digest);
}

#[tokio::test]
async fn a_changed_byte_on_disk_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path()).unwrap();
    let packed = version("v1");
    save(&packed, &layout, None).unwrap();
    let path = directory.path().join("blobs/sha256").join(packed.manifest.digest.hex());
    let text = std::fs::read_to_string(&path).unwrap().replace("README", "readme");
    std::fs::write(&path, text).unwrap();
    let error = look(&Place::layout(layout)).await.unwrap_err();
    assert!(words(&error).contains("tampered"), "{}", words(&error));
}

/// Artifacts that others made, as layouts.
async fn artifact(manifest: impl FnOnce(&Value) -> Value, config: &Value) -> Result<boathook_bundle::Seen, String> {
    let directory = tempfile::tempdir().unwrap();
    let blobs = directory.path().join("blobs/sha256");
    std::fs::create_dir_all(&blobs).unwrap();
    let put = |bytes: &[u8]| {
        let digest = Digest::of(bytes);
        std::fs::write(blobs.join(digest.hex()), bytes).unwrap();
        json!({"digest": digest.as_str(), "size": bytes.len(), "mediaType": "x"})
    };
    let config = put(config.to_string().as_bytes());
    let manifest = put(manifest(&config).to_string().as_bytes());
    std::fs::write(
        directory.path().join("index.json"),
        json!({"schemaVersion": 2, "manifests": [manifest]}).to_string(),
    )
    .unwrap();
    std::fs::write(directory.path().join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
    let layout = Layout::open(directory.path(), None).unwrap();
    look(&Place::layout(layout)).await.map_err(|error| words(&error))
}

fn typed(mut descriptor: Value, kind: &str) -> Value {
    descriptor["mediaType"] = kind.into();
    descriptor
}

fn layer(size: u64) -> Value {
    json!({"mediaType": WASM_TYPE, "digest": Digest::of(b"code").as_str(), "size": size})
}

#[tokio::test]
async fn a_single_component_is_a_bundle_of_one() {
    let config = json!({"created": "2026-01-01T00:00:00Z", "architecture": "wasm", "os": "wasip2",
        "layerDigests": [Digest::of(b"code").as_str()], "component": {"exports": [], "imports": []}});
    let named = |title: Option<&str>| {
        let mut layer = layer(4);
        if let Some(title) = title {
            layer["annotations"] = json!({"org.opencontainers.image.title": title});
        }
        move |config: &Value| json!({"schemaVersion": 2, "config": typed(config.clone(), "application/vnd.wasm.config.v0+json"), "layers": [layer]})
    };
    let seen = artifact(named(Some("copy.wasm")), &config).await.unwrap();
    assert_eq!(seen.contents.hooks[0].name.as_str(), "copy");
    assert_eq!(seen.contents.hooks[0].permissions, None);
    let error = artifact(named(Some("../x.wasm")), &config).await.unwrap_err();
    assert!(error.contains("../x"), "{error}");
    assert!(artifact(named(None), &config).await.is_ok());
    // Some tools leave the config empty.
    assert!(artifact(named(None), &json!({})).await.is_ok());

    let (mut module, mut other) = (config.clone(), config.clone());
    module["os"] = "wasip1".into();
    other["layerDigests"] = json!([Digest::of(b"other").as_str()]);
    let text = |config: &Value| json!({"schemaVersion": 2, "config": typed(config.clone(), "application/vnd.wasm.config.v0+json"), "layers": [typed(layer(4), "text/plain")]});
    let two = |config: &Value| json!({"schemaVersion": 2, "config": typed(config.clone(), "application/vnd.wasm.config.v0+json"), "layers": [layer(4), layer(4)]});
    for (result, why) in [
        (artifact(named(None), &module).await, "it is for \"wasip1\""),
        (artifact(named(None), &other).await, "describes another layer"),
        (artifact(named(None), &json!(7)).await, "its config cannot be read"),
        (artifact(text, &config).await, "its layer is \"text/plain\""),
        (artifact(two, &config).await, "it has 2 layers"),
    ] {
        let error = result.unwrap_err();
        assert!(error.contains(why), "{why}: {error}");
    }
}

#[tokio::test]
async fn what_is_no_right_bundle_says_why() {
    let bundle = |layers: Value| move |config: &Value| json!({"schemaVersion": 2, "artifactType": BUNDLE_TYPE, "config": typed(config.clone(), CONFIG_TYPE), "layers": layers});
    let config =
        |digest: &Digest| json!({"created": "", "hooks": {"a": {"layer": digest.as_str(), "permissions": []}}});
    let good = config(&Digest::of(b"code"));
    assert!(artifact(bundle(json!([layer(4)])), &good).await.is_ok());
    let image = |config: &Value| json!({"schemaVersion": 2, "config": config, "layers": []});
    let extra = json!({"mediaType": WASM_TYPE, "digest": Digest::of(b"more").as_str(), "size": 4});
    let cases = [
        (artifact(image, &json!({})).await, "it is not a bundle of hooks"),
        (artifact(bundle(json!([])), &good).await, "the manifest has no such layer"),
        (artifact(bundle(json!([layer(4), extra])), &good).await, "the config does not name"),
        (artifact(bundle(json!([layer(u64::MAX), layer(4)])), &good).await, "268435456 are allowed"),
        (artifact(bundle(Value::Array(vec![layer(1 << 28); 5])), &good).await, "all of it is 1342177280 bytes"),
        (artifact(bundle(Value::Array(vec![layer(4); 501])), &good).await, "501 layers"),
        (artifact(bundle(json!([])), &json!({"created": "", "hooks": {}})).await, "it has no hook"),
        (artifact(bundle(json!([layer(4)])), &json!([])).await, "its config cannot be read"),
        (artifact(bundle(json!([{"digest": "md5:x"}])), &good).await, "its manifest cannot be read"),
    ];
    for (result, what) in cases {
        let error = result.unwrap_err();
        assert!(error.contains(what), "{error}");
    }
}

#[tokio::test]
async fn definitions_travel_with_the_hooks() {
    let directory = tempfile::tempdir().unwrap();
    let layout = Layout::create(directory.path()).unwrap();
    let input = |names: &[&str]| {
        let definitions = names.iter().map(|name| definition(name)).collect();
        Input { hooks: vec![hook("a", b"1", "pods")], definitions, ..Input::default() }
    };
    let packed = pack(input(&["tools", "apps"])).unwrap();
    assert_eq!(packed.manifest.digest, pack(input(&["apps", "tools"])).unwrap().manifest.digest);
    save(&packed, &layout, None).unwrap();
    let place = Place::layout(layout);
    let seen = look(&place).await.unwrap();
    let names: Vec<_> = seen.contents.custom_resource_definitions.iter().map(|of| of.name.as_str()).collect();
    assert_eq!(names, ["apps.example.com", "tools.example.com"]);
    let defines = seen.contents.defines().unwrap();
    assert_eq!(
        (defines.resource_names, defines.verbs.join(" ")),
        (names.iter().map(|name| (*name).to_owned()).collect(), "get create patch".to_owned())
    );

    let local = Local::new();
    let pulled = pull(&place, &local.store, &Policy::unchecked(), &Progress::default()).await.unwrap();
    let ready = pulled.ready().unwrap();
    let read = |path: &std::path::Path| serde_json::from_slice::<Value>(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(read(&ready.definitions[0].path)["metadata"]["name"], "apps.example.com");
    local.store.remember("r", &pulled, &Policy::unchecked()).unwrap();
    assert_eq!(local.store.recall("r", &Policy::unchecked()).unwrap().unwrap(), ready);
    let to = directory.path().join("unpacked");
    unpack(&pulled, &to).unwrap();
    assert_eq!(read(&to.join("crds/tools.example.com.json"))["kind"], "CustomResourceDefinition");

    let error = |names: &[&str]| pack(input(names)).unwrap_err().to_string();
    assert!(error(&["apps", "apps"]).contains("two CustomResourceDefinitions named \"apps.example.com\""));
    let many: Vec<_> = (0..33).map(|n| format!("a{n}")).collect();
    assert!(
        error(&many.iter().map(String::as_str).collect::<Vec<_>>())
            .contains("33 CustomResourceDefinitions are too many")
    );
}

#[tokio::test]
async fn definitions_that_the_config_and_the_manifest_disagree_about_are_refused() {
    let digest = Digest::of(b"1");
    let layer = json!({"digest": digest.as_str(), "size": 1, "mediaType": WASM_TYPE});
    let other = json!({"digest": Digest::of(b"2").as_str(), "size": 1, "mediaType": DEFINITION_TYPE});
    let large = json!({"digest": Digest::of(b"3").as_str(), "size": 2_000_000, "mediaType": DEFINITION_TYPE});
    for (layers, named, part) in [
        (json!([layer]), json!({"a.b": Digest::of(b"2").as_str()}), "has CustomResourceDefinition \"a.b\" in layer"),
        (json!([layer, other]), json!({}), "that the config does not name"),
        (
            json!([layer, large]),
            json!({"a.b": Digest::of(b"3").as_str()}),
            "its CustomResourceDefinition a.b is 2000000 bytes",
        ),
    ] {
        let config = json!({"created": "x", "hooks": {"a": {"layer": digest.as_str(), "permissions": []}}, "customResourceDefinitions": named});
        let manifest = |config: &Value| json!({"schemaVersion": 2, "artifactType": BUNDLE_TYPE, "config": typed(config.clone(), CONFIG_TYPE), "layers": layers});
        let error = artifact(manifest, &config).await.unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}
