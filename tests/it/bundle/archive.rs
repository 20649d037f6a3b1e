//! Bundles as one file: saved, loaded, and hostile files refused.

use std::{fs, path::Path};

use boathook_bundle::{Digest, Layout, NamedKey, Place, Policy, Progress, archive, copy, look, save, sign, verify};

use super::{Local, registry::Registry, send, trust, version, words};

/// One entry of a tar: its type, its name and its content.
type Entry<'a> = (u8, &'a str, &'a [u8]);

fn tar(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (kind, name, content) in entries {
        out.extend(header(*kind, name, content.len() as u64));
        out.extend(*content);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.extend([0; 1024]);
    out
}

/// A header by hand, because a library would refuse to write some of these.
fn header(kind: u8, name: &str, size: u64) -> [u8; 512] {
    let mut header = [0_u8; 512];
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(124, format!("{size:011o}\0").as_bytes());
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, &[kind]);
    put(157, b"/etc/passwd");
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

/// The files of a layout with one bundle.
fn files() -> Vec<(String, Vec<u8>)> {
    let directory = tempfile::tempdir().unwrap();
    save(&version("v1"), &Layout::create(directory.path()).unwrap(), Some("v1")).unwrap();
    let mut names = vec!["oci-layout".to_owned(), "index.json".to_owned()];
    let blobs = fs::read_dir(directory.path().join("blobs/sha256")).unwrap();
    names.extend(blobs.map(|blob| format!("blobs/sha256/{}", blob.unwrap().file_name().to_string_lossy())));
    names.into_iter().map(|name| (name.clone(), fs::read(directory.path().join(name)).unwrap())).collect()
}

fn entries(files: &[(String, Vec<u8>)]) -> Vec<Entry<'_>> {
    files.iter().map(|(name, content)| (b'0', name.as_str(), content.as_slice())).collect()
}

fn opened(bytes: &[u8]) -> Result<Digest, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.tar");
    fs::write(&path, bytes).unwrap();
    let layout = Layout::open(&path, None).map_err(|error| words(&error))?;
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(look(&Place::layout(layout))).map(|seen| seen.digest).map_err(|error| words(&error))
}

#[tokio::test]
async fn a_bundle_goes_from_registry_to_registry_in_a_file_with_its_signatures() {
    let (one, two) = (Registry::start(), Registry::start());
    let (place, key) = (one.place("team/hooks:v1"), trust::p256());
    send(&version("v1"), &place).await;
    sign(&place, &key).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let (path, again) = (directory.path().join("hooks.tar"), directory.path().join("again.tar"));
    assert_eq!(archive(&place, &path, &Progress::default()).await.unwrap().companions, 1);
    archive(&place, &again, &Progress::default()).await.unwrap();
    assert!(fs::read(&path).unwrap() == fs::read(&again).unwrap(), "the same bundle is the same file");

    let layout = Layout::open(&path, None).unwrap();
    assert_eq!(layout.saved_from().unwrap(), Some(one.reference("team/hooks:v1").to_string()));
    let policy =
        Policy::of(Vec::new(), vec![NamedKey { name: "team".to_owned(), key: key.public().into(), may: None }]);
    let (file, there) = (Place::layout(layout), two.place("other/hooks:v2"));
    verify(&file, &policy).await.unwrap();
    assert_eq!(Local::new().pull(&file).await.unwrap().fetched, 3);
    let pushed = copy(&file, &there, &Progress::default()).await.unwrap();
    assert_eq!((pushed.companions, &pushed.digest), (1, &version("v1").manifest.digest));
    verify(&there, &policy).await.unwrap();

    let error = sign(&file, &key).await.unwrap_err();
    assert!(words(&error).contains("nothing can be added"), "{}", words(&error));
}

/// What skopeo, crane with tar, and `tar -C LAYOUT .` write: directories, `./`, extended headers with times.
#[test]
fn what_other_tools_write_is_read() {
    let files = files();
    let named: Vec<_> = files.iter().map(|(name, content)| (format!("./{name}"), content.clone())).collect();
    let digest = version("v1").manifest.digest;
    assert_eq!(opened(&tar(&entries(&files))), Ok(digest.clone()));
    let mut all =
        vec![(b'5', "./", &b""[..]), (b'5', "./blobs/sha256/", b""), (b'x', "PaxHeaders/x", b"20 mtime=1.25000000\n")];
    all.extend(entries(&named));
    assert_eq!(opened(&tar(&all)), Ok(digest));
}

// mutant: crates/bundle/src/layout/archive.rs: `_ => return Err(format!("{:?} is not a plain file", shown())),` => `_ => {}`
// mutant: crates/bundle/src/layout/archive.rs: `match text.filter(|text| [MARKER, INDEX].contains(text) || is_blob(text)) {` => `match text {`
// mutant: crates/bundle/src/layout/archive.rs: `if files.insert(name.clone(), (start, size)).is_some() {` => `if files.insert(name.clone(), (start, size)).is_some() && false {`
// mutant: crates/bundle/src/layout/archive.rs: `if CHANGING.contains(&key) || key.starts_with("GNU.sparse") {` => `if key.is_empty() {`
// mutant: crates/bundle/src/layout/archive.rs: `if size > max || total > MAX_TOTAL {` => `if false && size > max {`
// mutant: crates/bundle/src/layout/archive.rs: `if start.checked_add(size).is_none_or(|last| last > end) {` => `if false && start > end {`
// mutant: crates/bundle/src/layout/archive.rs: `if entry.size() > MAX_EXTENDED {` => `if false {`
// mutant: crates/bundle/src/layout/archive.rs: `if n >= MAX_ENTRIES {` => `if false && n > 0 {`
#[test]
fn a_hostile_file_is_refused_before_anything_of_it_is_used() {
    let files = files();
    let good = entries(&files);
    let with = |kind: u8, name: &str, content: &[u8]| {
        let mut all = good.clone();
        all.push((kind, name, content));
        opened(&tar(&all))
    };
    let blob = format!("blobs/sha256/{}", Digest::of(b"x").hex());
    let path = format!("{} path=../../x\n", "16");
    let many: Vec<_> = std::iter::repeat_n((b'5', "blobs/", &b""[..]), 5000).chain(good.clone()).collect();
    // A header that promises more than there is.
    let huge = |name: &str, size: u64| [header(b'0', name, size).to_vec(), tar(&good)].concat();
    let whole = tar(&good);
    for (result, why) in [
        (with(b'0', "../../etc/cron.d/x", b"x"), "\"../../etc/cron.d/x\" is not a file of an OCI image layout"),
        (with(b'0', "/etc/passwd", b"x"), "is not a file of an OCI"),
        (with(b'0', "blobs/sha256/../../x", b"x"), "is not a file of an OCI"),
        (with(b'0', "blobs/sha512/00", b"x"), "is not a file of an OCI"),
        (with(b'2', &blob, b""), "is not a plain file"),
        (with(b'1', &blob, b""), "is not a plain file"),
        (with(b'3', &blob, b""), "is not a plain file"),
        (with(b'L', "././@LongLink", b"../../x"), "is not a plain file"),
        (with(b'S', &blob, b""), "is not a plain file"),
        (with(b'0', "index.json", b"{}"), "index.json is in it twice"),
        (with(b'0', "./index.json", b"{}"), "index.json is in it twice"),
        (with(b'x', "x", path.as_bytes()), "changes \"path\""),
        (with(b'g', "x", b"12 size=100\n"), "changes \"size\""),
        (with(b'x', "x", &vec![b'x'; 1 << 20]), "more than 65536 bytes"),
        (opened(&tar(&many)), "more than 4096 entries"),
        (opened(&huge(&blob, 1 << 30)), "are allowed"),
        (opened(&huge("index.json", 5 << 20)), "4194304 are allowed"),
        (opened(&huge(&blob, 200 << 20)), "ends within"),
        (opened(&tar(&good[1..])), "it has no oci-layout"),
        (opened(&tar(&good[..1])), "it has no index.json"),
        (opened(&whole[..700]), "it has no index.json"),
        (opened(b"no tar"), "is not an OCI image layout"),
    ] {
        let error = result.unwrap_err();
        assert!(error.contains(why), "{why}: {error}");
    }
}

#[test]
fn a_changed_byte_in_a_file_is_found() {
    let mut files = files();
    let manifest = version("v1").manifest.digest;
    let blob = files.iter_mut().find(|(name, _)| Path::new(name).ends_with(manifest.hex())).unwrap();
    *blob.1.last_mut().unwrap() ^= 1;
    let error = opened(&tar(&entries(&files))).unwrap_err();
    assert!(error.contains("tampered with or damaged"), "{error}");
}
