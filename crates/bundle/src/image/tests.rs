//! Images as tools write them, and as strangers would.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
use std::os::unix::fs::PermissionsExt as _;

use flate2::{Compression as Level, write::GzEncoder};
use tar::{Builder, EntryType, Header};

use super::*;
use crate::Layout;

/// An entry of a layer: its type, path, content or target, and mode.
type E<'e> = (EntryType, &'e str, &'e str, u32);

fn file<'e>(path: &'e str, content: &'e str) -> E<'e> {
    (EntryType::Regular, path, content, 0o755)
}

fn link<'e>(path: &'e str, target: &'e str) -> E<'e> {
    (EntryType::Symlink, path, target, 0o777)
}

fn hard<'e>(path: &'e str, target: &'e str) -> E<'e> {
    (EntryType::Link, path, target, 0o755)
}

/// The library checks paths, so they are written into the header as they are.
fn tar(entries: &[E<'_>]) -> Vec<u8> {
    let mut tar = Builder::new(Vec::new());
    for (kind, path, content, mode) in entries {
        let mut header = Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(*mode);
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        let content = if matches!(kind, EntryType::Symlink | EntryType::Link) {
            header.as_old_mut().linkname[..content.len()].copy_from_slice(content.as_bytes());
            ""
        } else {
            content
        };
        header.set_size(content.len() as u64);
        header.set_cksum();
        tar.append(&header, content.as_bytes()).unwrap();
    }
    tar.into_inner().unwrap()
}

struct Image {
    directory: tempfile::TempDir,
    layers: Vec<Layer>,
}

impl Image {
    fn of(layers: &[Vec<u8>]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let layer = |(n, bytes): (usize, &Vec<u8>)| {
            let path = directory.path().join(n.to_string());
            fs::write(&path, bytes).unwrap();
            Layer { name: n.to_string(), path, range: None, compression: Compression::Detect }
        };
        let layers = layers.iter().enumerate().map(layer).collect();
        Self { directory, layers }
    }

    fn take(&self, folder: &str) -> Result<(Taken, PathBuf), String> {
        let to = self.directory.path().join("out");
        let taken = take("image", &self.layers, folder, &to).map_err(|error| error.to_string())?;
        Ok((taken, to))
    }
}

/// `PATH=CONTENT`, for each file that is written.
fn taken(layers: &[&[E<'_>]]) -> Result<(Vec<String>, Vec<String>), String> {
    let layers: Vec<_> = layers.iter().map(|entries| tar(entries)).collect();
    let image = Image::of(&layers);
    let (taken, to) = image.take("/hooks")?;
    let content = |path: &String| format!("{path}={}", fs::read_to_string(to.join(path)).unwrap());
    Ok((taken.files.iter().map(content).collect(), taken.left_out))
}

fn files(layers: &[&[E<'_>]]) -> Vec<String> {
    taken(layers).unwrap().0
}

#[test]
fn later_layers_change_earlier_ones() {
    let base = [file("hooks/a.sh", "1"), file("./hooks/b/c.sh", "2"), file("etc/passwd", "x")];
    assert_eq!(files(&[&base]), ["a.sh=1", "b/c.sh=2"]);
    assert_eq!(files(&[&base, &[file("/hooks/a.sh", "3")]]), ["a.sh=3", "b/c.sh=2"]);
    assert_eq!(files(&[&base, &[file("hooks/.wh.a.sh", "")]]), ["b/c.sh=2"]);
    assert_eq!(files(&[&base, &[file("hooks/.wh.b", "")]]), ["a.sh=1"]);
    // What a layer adds stays, even if the mark comes later in it.
    assert_eq!(files(&[&base, &[file("hooks/n.sh", "4"), file("hooks/.wh..wh..opq", "")]]), ["n.sh=4"]);
    assert_eq!(files(&[&base, &[file("hooks/b", "now a file")]]), ["a.sh=1", "b=now a file"]);
    let replaced: [E<'_>; 2] = [(EntryType::Directory, "hooks/a.sh", "", 0o755), file("hooks/a.sh/x", "5")];
    assert_eq!(files(&[&base, &replaced]), ["a.sh/x=5", "b/c.sh=2"]);
    assert!(taken(&[&base, &[file(".wh.hooks", "")]]).unwrap_err().contains("has no folder /hooks"));
}

#[test]
fn links_are_followed_within_the_image() {
    let base = [file("opt/x.sh", "1"), file("opt/deep/y.sh", "2")];
    assert_eq!(
        files(&[&base, &[link("hooks/a.sh", "/opt/x.sh"), link("hooks/d", "../opt/deep")]]),
        ["a.sh=1", "d/y.sh=2"]
    );
    assert_eq!(files(&[&base, &[link("hooks", "opt")]]), ["deep/y.sh=2", "x.sh=1"]);
    // The root's parent is the root, also for a link.
    assert_eq!(files(&[&base, &[link("hooks/a.sh", "../../../../opt/x.sh")]]), ["a.sh=1"]);
    assert_eq!(files(&[&base, &[hard("hooks/a.sh", "opt/x.sh")]]), ["a.sh=1"]);
    let (files, left_out) =
        taken(&[&base, &[link("hooks/a.sh", "/etc/shadow"), hard("hooks/b.sh", "missing"), file("hooks/c", "3")]])
            .unwrap();
    assert_eq!(files, ["c=3"]);
    assert_eq!(left_out, ["a.sh: it is a link to /etc/shadow, which is not in the image", "b.sh: it is not a file"]);
}

#[test]
fn nothing_is_written_outside_of_the_directory() {
    for path in ["../evil", "hooks/../../evil", "hooks/.."] {
        let error = taken(&[&[file("hooks/a", "1"), file(path, "x")]]).unwrap_err();
        assert!(error.contains("leads out of its folder"), "{error}");
    }
    let error = taken(&[&[file("hooks/a", "1"), hard("hooks/b", "../../etc/passwd")]]).unwrap_err();
    assert!(error.contains("leads out of its folder"), "{error}");
    // A link of an earlier layer is not a place to write to.
    assert_eq!(files(&[&[link("hooks/d", "/tmp")], &[file("hooks/d/evil", "x")]]), ["d/evil=x"]);
    let image = Image::of(&[tar(&[file("hooks/a", "1")])]);
    fs::create_dir(image.directory.path().join("out")).unwrap();
    fs::write(image.directory.path().join("out/mine"), "").unwrap();
    assert!(image.take("hooks").unwrap_err().contains("is not empty"));
}

#[test]
fn links_in_circles_end() {
    let (files, left_out) = taken(&[&[
        file("hooks/a", "1"),
        link("hooks/self", "self"),
        link("hooks/up", "."),
        link("hooks/one", "two"),
        link("hooks/two", "one"),
    ]])
    .unwrap();
    assert_eq!(files, ["a=1"]);
    assert_eq!(left_out.len(), 4, "{left_out:?}");
    // Each link doubles the path.
    let many: Vec<_> = (0..30).map(|n| (format!("hooks/l{n}"), format!("l{0}/../l{0}", n + 1))).collect();
    let links: Vec<_> = many.iter().map(|(path, target)| link(path, target)).collect();
    assert!(taken(&[&links]).unwrap().0.is_empty());
}

#[test]
fn links_do_not_make_many_folders_of_few() {
    let many: Vec<_> =
        (0..14).flat_map(|n| "abcdef".chars().map(move |c| (format!("d{n}/{c}"), format!("/d{}", n + 1)))).collect();
    let mut entries: Vec<_> = many.iter().map(|(path, target)| link(path, target)).collect();
    entries.extend([file("d14/x", "1"), link("hooks", "d0")]);
    assert!(
        taken(&[&entries]).unwrap_err().contains("folders of it") || taken(&[&entries]).unwrap_err().contains("files")
    );
}

#[test]
fn what_is_too_large_is_refused() {
    let names: Vec<_> = (0..=MAX_FILES).map(|n| format!("hooks/{n}")).collect();
    let entries: Vec<_> = names.iter().map(|name| file(name, "")).collect();
    assert!(taken(&[&entries]).unwrap_err().contains("more than 4096 files"));
    let deep = "d/".repeat(40);
    let (files, left_out) = taken(&[&[file(&format!("hooks/{deep}x"), "1")]]).unwrap();
    assert!(files.is_empty() && left_out[0].contains("too deep"), "{left_out:?}");
    // One entry whose header promises more than there is.
    let mut header = Header::new_gnu();
    header.set_path("hooks/a").unwrap();
    header.set_size(MAX_TAKEN + 1);
    header.set_cksum();
    let image = Image::of(&[header.as_bytes().to_vec()]);
    assert!(image.take("hooks").is_err());
    // A long name of any size would be read into memory.
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::GNULongName);
    header.set_path("././@LongLink").unwrap();
    header.set_size(1 << 30);
    header.set_cksum();
    let image = Image::of(&[header.as_bytes().to_vec()]);
    assert!(image.take("hooks").unwrap_err().contains("the header of a file has 1073741824 bytes"));
    let sparse = taken(&[&[(EntryType::GNUSparse, "hooks/a", "", 0o644)]]).unwrap_err();
    assert!(sparse.contains("sparse"), "{sparse}");
}

#[test]
fn a_layer_that_unpacks_without_end_is_stopped() {
    let mut packed = GzEncoder::new(Vec::new(), Level::fast());
    let mut header = Header::new_gnu();
    header.set_path("zeros").unwrap();
    header.set_size(u64::from(u32::MAX));
    header.set_cksum();
    packed.write_all(header.as_bytes()).unwrap();
    packed.write_all(&vec![0; 32 << 20]).unwrap();
    let image = Image::of(&[packed.finish().unwrap()]);
    let mut budget = layer::Budget::default();
    budget.left_for_tests(1 << 20);
    let error = layer::entries(&image.layers[0], &mut budget).unwrap_err();
    assert!(error.contains("unpacked"), "{error}");
}

#[test]
fn compressed_layers_keep_names_modes_and_long_paths() {
    let long = format!("hooks/{}/a.sh", "long".repeat(40));
    let mut tar = Builder::new(GzEncoder::new(Vec::new(), Level::fast()));
    for (path, mode) in [(long.as_str(), 0o4755), ("hooks/data.json", 0o600)] {
        let mut header = Header::new_gnu();
        header.set_size(1);
        header.set_mode(mode);
        tar.append_data(&mut header, path, &b"x"[..]).unwrap();
    }
    let image = Image::of(&[tar.into_inner().unwrap().finish().unwrap()]);
    let (taken, to) = image.take("hooks").unwrap();
    assert_eq!(taken.files, ["data.json".to_owned(), long.strip_prefix("hooks/").unwrap().to_owned()]);
    let mode = |path: &str| fs::metadata(to.join(path)).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode(&taken.files[1]) & 0o4700, mode("data.json") & 0o111), (0o700, 0));
}

/// `hooks/a.sh` with 400 lines, by `zstd`: a frame with a checksum, one to skip, and one without a checksum.
const ZSTD: &str = "KLUv/QRovQIAIsQOEZB9wBg9SLk78LCbawlfTUkBdrbY/tYK5V/5IJC5OWKnI0H4P246by/vySyW0FGmuFKsuMyjkUzvlQEJAGSGpu/ogOIA\
     l3inDi+Duj2AQQHAbAJzTZMaoFMqTRgEAAAAYWJjZCi1L/0ASO0AAJBhZ2FpbgplY2hvIGhlbGxvIAACAGDhfhEaqJ9L";

fn zstd() -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(ZSTD).unwrap()
}

#[test]
fn layers_of_zstd_are_read_frame_by_frame() {
    let image = Image::of(&[zstd()]);
    let (taken, to) = image.take("hooks").unwrap();
    assert_eq!(taken.files, ["a.sh"]);
    let text = fs::read_to_string(to.join("a.sh")).unwrap();
    assert_eq!((text.lines().count(), text.lines().last()), (401, Some("echo hello again")));
}

#[test]
fn damaged_layers_of_zstd_are_refused() {
    let whole = zstd();
    for end in [5, whole.len() / 2, whole.len() - 3] {
        let error = Image::of(&[whole[..end].to_vec()]).take("hooks").unwrap_err();
        assert!(error.contains("it cannot be read"), "{end}: {error}");
    }
    // A frame to skip that says that it has four gigabytes.
    let mut endless = Image::of(&[vec![0x50, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff, 1]]);
    endless.layers[0].compression = Compression::Zstd;
    assert!(endless.take("hooks").unwrap_err().contains("unexpected end of file"));
    // A frame whose window is larger than what is kept in memory.
    let window = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xf8, 0x01, 0x00, 0x00];
    let error = Image::of(&[window.to_vec()]).take("hooks").unwrap_err();
    assert!(error.contains("indow"), "{error}");
}

#[test]
fn a_layer_of_zstd_that_unpacks_without_end_is_stopped() {
    let mut header = Header::new_gnu();
    header.set_path("zeros").unwrap();
    header.set_size(u64::from(u32::MAX));
    header.set_cksum();
    let block = |size: u32, kind: u32| (size << 3 | kind << 1).to_le_bytes();
    let mut bomb = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
    bomb.extend_from_slice(&block(512, 0)[..3]);
    bomb.extend_from_slice(header.as_bytes());
    // Blocks of one byte that is repeated 128 Ki times: four bytes each.
    for _ in 0..1000 {
        bomb.extend_from_slice(&block(128 * 1024, 1)[..3]);
        bomb.push(0);
    }
    let image = Image::of(&[bomb]);
    let mut budget = layer::Budget::default();
    budget.left_for_tests(1 << 20);
    let error = layer::entries(&image.layers[0], &mut budget).unwrap_err();
    assert!(error.contains("unpacked"), "{error}");
}

/// A layout with an index of two images, of which the second is for amd64.
fn layout(directory: &Path, layer_type: &str) -> Place {
    let layout = Layout::create(directory).unwrap();
    let put = |bytes: &[u8], media_type: &str| {
        let descriptor = Descriptor::of(media_type, bytes);
        layout.put_blob(&descriptor.digest, bytes).unwrap();
        serde_json::to_value(descriptor).unwrap()
    };
    let mut images = Vec::new();
    for (architecture, content) in [("arm64", "other"), ("amd64", "mine")] {
        let layer = put(&tar(&[file("hooks/a.sh", content)]), layer_type);
        let config = put(architecture.as_bytes(), "application/vnd.oci.image.config.v1+json");
        let manifest = serde_json::json!({"schemaVersion": 2, "config": config, "layers": [layer]}).to_string();
        let mut image = put(manifest.as_bytes(), "application/vnd.oci.image.manifest.v1+json");
        image["platform"] = serde_json::json!({"os": "linux", "architecture": architecture});
        images.push(image);
    }
    let index = serde_json::json!({"schemaVersion": 2, "manifests": images}).to_string();
    let descriptor = Descriptor::of("application/vnd.oci.image.index.v1+json", index.as_bytes());
    layout.put_manifest(descriptor, index.as_bytes(), Some("v1")).unwrap();
    Place::layout(Layout::open(directory, None).unwrap())
}

async fn take_layout(layer_type: &str) -> Result<String, String> {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&directory.path().join("store")).unwrap();
    let (place, to) = (layout(&directory.path().join("layout"), layer_type), directory.path().join("out"));
    let taken = take_folder(&place, "/hooks", &to, &store, &Progress::default()).await;
    taken.map_err(|error| error.to_string())?;
    Ok(fs::read_to_string(to.join("a.sh")).unwrap())
}

#[tokio::test]
async fn of_several_platforms_linux_amd64_is_taken() {
    assert_eq!(take_layout("application/vnd.oci.image.layer.v1.tar").await.unwrap(), "mine");
    let zstd = take_layout("application/vnd.oci.image.layer.v1.tar+zstd").await.unwrap_err();
    assert!(zstd.contains("it cannot be read"), "it is a tar that is not compressed: {zstd}");
    let wasm = take_layout("application/wasm").await.unwrap_err();
    assert!(wasm.contains("is not that of a layer"), "{wasm}");
}

#[test]
fn what_docker_saved_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image.tar");
    let save = |manifest: &str, layers: &[(&str, Vec<u8>)]| {
        let mut tar = Builder::new(Vec::new());
        let mut add = |name: &str, bytes: &[u8]| {
            let mut header = Header::new_gnu();
            header.set_size(bytes.len() as u64);
            tar.append_data(&mut header, name, bytes).unwrap();
        };
        add("manifest.json", manifest.as_bytes());
        layers.iter().for_each(|(name, bytes)| add(name, bytes));
        fs::write(&path, tar.into_inner().unwrap()).unwrap();
    };
    let taken = || {
        let to = tempfile::tempdir().unwrap();
        let taken = take_folder_of_saved(&path, "/hooks", to.path()).map_err(|error| error.to_string())?;
        Ok::<_, String>(taken.files)
    };
    let one = r#"[{"Config": "c.json", "RepoTags": ["a:1"], "Layers": ["1/layer.tar", "blobs/sha256/2"]}]"#;
    let layers = [("1/layer.tar", tar(&[file("hooks/a", "1")])), ("blobs/sha256/2", tar(&[file("hooks/b", "2")]))];
    save(one, &layers);
    assert!(is_saved(&path) && !Layout::is_at(directory.path()));
    assert_eq!(taken().unwrap(), ["a", "b"]);
    save(one, &layers[..1]);
    assert!(taken().unwrap_err().contains("its layer \"blobs/sha256/2\" is missing"));
    save(&format!("[{0}, {0}]", one.trim_matches(['[', ']'])), &layers);
    assert!(taken().unwrap_err().contains("several images") || taken().unwrap_err().contains("cannot be read"));
    save("[]", &layers);
    assert!(taken().unwrap_err().contains("names no image"));
    save("{", &layers);
    assert!(taken().unwrap_err().contains("manifest.json cannot be read"));
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..700]).unwrap();
    assert!(taken().is_err());
}
