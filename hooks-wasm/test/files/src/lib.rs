//! Does what a ConfigMap asks with files, and logs what comes of it: for tests of directories.
//!
//! It never writes to the cluster. A ConfigMap with the label `files=true` has `steps`, a list in JSON of `{"do": …}`, with
//! `path`, and perhaps `to`, `text` and `count`. Each step has a line, an object with `do` and `ok`, or with `error`, the kind.

use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::{self, Value, json};
use std::{
    fs::{self, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
};

fn config() -> Config {
    let configmaps = Kubernetes::new("configmaps")
        .api_version("v1")
        .kind("ConfigMap")
        .label("files", "true")
        .on_events([Change::Added, Change::Modified]);
    Config::new()
        .kubernetes(configmaps)
        .directory(DirectoryPermission::new("logs"))
        .directory(DirectoryPermission::new("keys").write())
        .retry(Retry::new().attempts(1))
}

fn run(ctx: Context) -> Result<()> {
    for event in ctx.events("configmaps") {
        let map: Value = event.object()?;
        let steps: Vec<Value> = serde_json::from_str(map["data"]["steps"].as_str().unwrap_or("[]"))?;
        for step in steps {
            let line = match done(&step) {
                Ok(value) => json!({"do": step["do"], "ok": value}),
                Err(error) => json!({"do": step["do"], "error": format!("{:?}", error.kind())}),
            };
            log::info!("{line}");
        }
    }
    Ok(())
}

fn done(step: &Value) -> io::Result<Value> {
    let text = |key: &str| step[key].as_str().unwrap_or_default();
    let (path, to, count) = (text("path"), text("to"), step["count"].as_u64().unwrap_or(1));
    Ok(match text("do") {
        "read" => fs::read_to_string(path)?.into(),
        "measure" => fs::read(path)?.len().into(),
        "write" => nothing(fs::write(path, text("text")))?,
        "append" => nothing(OpenOptions::new().append(true).open(path)?.write_all(text("text").as_bytes()))?,
        "create" => nothing(OpenOptions::new().write(true).create_new(true).open(path).map(drop))?,
        "update" => {
            let mut file = OpenOptions::new().read(true).write(true).open(path)?;
            let mut all = String::new();
            file.read_to_string(&mut all)?;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(text("text").as_bytes())?;
            all.into()
        }
        "resize" => nothing(OpenOptions::new().write(true).open(path)?.set_len(count))?,
        "fill" => {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
            let block = [b'x'; 65536];
            for _ in 0..count {
                file.write_all(&block)?;
            }
            Value::Null
        }
        "list" => {
            let names = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
            let mut names = names.collect::<io::Result<Vec<String>>>()?;
            names.sort();
            names.into()
        }
        "count" => fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?.len().into(),
        "size" => fs::symlink_metadata(path)?.len().into(),
        "rename" => nothing(fs::rename(path, to))?,
        "remove" => nothing(fs::remove_file(path))?,
        "mkdir" => nothing(fs::create_dir(path))?,
        "rmdir" => nothing(fs::remove_dir(path))?,
        "link" => nothing(fs::hard_link(path, to))?,
        #[allow(deprecated, reason = "std has no other function for it on every system")]
        "symlink" => nothing(fs::soft_link(path, to))?,
        "open" => {
            let mut open = Vec::new();
            let error = (0..count).find_map(|_| fs::File::open(path).map(|file| open.push(file)).err());
            json!({"open": open.len(), "error": error.map(|error| format!("{:?}", error.kind()))})
        }
        other => return Err(io::Error::other(other.to_owned())),
    })
}

fn nothing(done: io::Result<()>) -> io::Result<Value> {
    done.map(|()| Value::Null)
}

boathook_sdk::hook!(config, run);
