//! The names of an image after all its layers, and which files a folder has. Pure: no file is read or written.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::layer::{Entry, Kind};

/// How many links lead from a name to a file.
const MAX_LINKS: usize = 40;
/// The depth of folders that are taken.
const MAX_DEPTH: usize = 16;
/// The most folders that are visited: links can make many of few.
const MAX_FOLDERS: usize = 10_000;
/// The most entries and parts of paths that are looked at. Links can make each entry of a folder, and each part of a path,
/// one that is looked at many times.
const MAX_STEPS: usize = 4_000_000;
/// The most bytes of a path or of a link's target, and the most parts.
const MAX_PATH: usize = 4096;
const MAX_PARTS: usize = 128;
/// What marks a file of the layers below as removed.
const REMOVED: &str = ".wh.";
/// What marks a folder's files of the layers below as removed.
const OPAQUE: &str = ".wh..wh..opq";

/// Where the content of a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileAt {
    pub layer: usize,
    /// The number of its entry.
    pub entry: usize,
    pub size: u64,
    pub executable: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    File(FileAt),
    Directory,
    /// The target as it is written. Hard links to it share it.
    Link(Arc<str>),
    /// Something that is not taken.
    Other,
}

/// All names, with `/`, without one in front.
#[derive(Debug, Default)]
pub struct Tree(BTreeMap<String, Node>);

/// The files of a folder.
#[derive(Debug, Default)]
pub struct Chosen {
    /// By their paths in the folder.
    pub files: BTreeMap<String, FileAt>,
    /// What was left out, and why.
    pub left_out: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum ChooseError {
    NoFolder,
    TooLarge(String),
}

impl Tree {
    /// Adds a layer. What it removes is removed from the layers below, wherever in the layer that is said.
    pub fn apply(&mut self, layer: usize, entries: Vec<Entry>) -> Result<(), String> {
        let mut added = Vec::new();
        for (number, entry) in entries.into_iter().enumerate() {
            // A name that is no text cannot be that of a hook.
            let Ok(text) = String::from_utf8(entry.path) else { continue };
            let path = plain(&text)?;
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
            if name == OPAQUE {
                self.remove_below(folder);
            } else if let Some(removed) = name.strip_prefix(REMOVED) {
                let path = if folder.is_empty() { removed.to_owned() } else { format!("{folder}/{removed}") };
                self.0.remove(&path);
                self.remove_below(&path);
            } else if !path.is_empty() {
                added.push((number, path, entry.kind));
            }
        }
        for (number, path, kind) in added {
            let node = match kind {
                Kind::File { size, executable } => Node::File(FileAt { layer, entry: number, size, executable }),
                Kind::Directory => Node::Directory,
                Kind::Link(target) => match String::from_utf8(target) {
                    Ok(target) if target.len() <= MAX_PATH => Node::Link(target.into()),
                    _ => Node::Other,
                },
                Kind::HardLink(target) => {
                    let target = String::from_utf8(target).unwrap_or_default();
                    self.0.get(&plain(&target)?).cloned().unwrap_or(Node::Other)
                }
                Kind::Other => Node::Other,
            };
            if node != Node::Directory {
                self.remove_below(&path);
            }
            // What is above is a folder from here on, also if a layer below has something else there.
            let mut above = path.as_str();
            while let Some((folder, _)) = above.rsplit_once('/') {
                if self.0.get(folder) == Some(&Node::Directory) {
                    break;
                }
                self.0.insert(folder.to_owned(), Node::Directory);
                above = folder;
            }
            self.0.insert(path, node);
        }
        Ok(())
    }

    fn remove_below(&mut self, folder: &str) {
        let below: Vec<String> = self.below(folder).map(|(path, _)| path.clone()).collect();
        for path in below {
            self.0.remove(&path);
        }
    }

    fn below<'t>(&'t self, folder: &str) -> impl Iterator<Item = (&'t String, &'t Node)> + use<'t> {
        let start = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        self.0.range(start.clone()..).take_while(move |(path, _)| path.starts_with(&start))
    }

    /// The files of a folder and of those below it. Links are followed within the image.
    pub fn choose(&self, folder: &str, max_files: usize, max_bytes: u64) -> Result<Chosen, ChooseError> {
        let mut steps = MAX_STEPS;
        let folder =
            plain(folder).ok().and_then(|folder| self.resolve(&folder, &mut steps)).ok_or(ChooseError::NoFolder)?;
        if !matches!(self.0.get(&folder), Some(Node::Directory)) {
            return Err(ChooseError::NoFolder);
        }
        let mut choice =
            Choice { tree: self, chosen: Chosen::default(), bytes: 0, folders: 0, steps, max_files, max_bytes };
        choice.folder(&folder, "", &mut BTreeSet::new(), MAX_DEPTH)?;
        Ok(choice.chosen)
    }

    /// What is directly in a folder, by its name. What is deeper is jumped over.
    fn children(&self, folder: &str, steps: &mut usize) -> Option<Vec<(String, Node)>> {
        let start = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let (mut from, mut children) = (start.clone(), Vec::new());
        while let Some((path, node)) = self.0.range(from..).next()
            && let Some(name) = path.strip_prefix(&start)
        {
            *steps = steps.checked_sub(1)?;
            from = match name.split_once('/') {
                // The character after `/` is `0`.
                Some((child, _)) => format!("{start}{child}0"),
                None => {
                    children.push((name.to_owned(), node.clone()));
                    format!("{path}\0")
                }
            };
        }
        Some(children)
    }

    /// The path without links, if there is something and there are steps left to find it.
    fn resolve(&self, path: &str, steps: &mut usize) -> Option<String> {
        let mut left: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
        let (mut at, mut links) = (Vec::<String>::new(), 0);
        while let Some(part) = left.pop() {
            *steps = steps.checked_sub(1)?;
            match part.as_str() {
                "" | "." => continue,
                // The root's parent is the root.
                ".." => {
                    at.pop();
                    continue;
                }
                _ => at.push(part),
            }
            let here = at.join("/");
            match self.0.get(&here)? {
                Node::Link(target) => {
                    links += 1;
                    let parts: Vec<&str> = target.split('/').collect();
                    if links > MAX_LINKS || parts.len() > MAX_PARTS || left.len() > MAX_PARTS {
                        return None;
                    }
                    at.pop();
                    if target.starts_with('/') {
                        at.clear();
                    }
                    left.extend(parts.into_iter().rev().map(str::to_owned));
                }
                Node::File(_) | Node::Other if !left.is_empty() => return None,
                _ => {}
            }
        }
        Some(at.join("/"))
    }
}

struct Choice<'t> {
    tree: &'t Tree,
    chosen: Chosen,
    bytes: u64,
    folders: usize,
    /// How many are left.
    steps: usize,
    max_files: usize,
    max_bytes: u64,
}

impl Choice<'_> {
    /// `folder` is its path in the image, `inside` in what is taken. `open` are the folders above, so that no link leads
    /// around in a circle.
    fn folder(
        &mut self,
        folder: &str,
        inside: &str,
        open: &mut BTreeSet<String>,
        depth: usize,
    ) -> Result<(), ChooseError> {
        self.folders += 1;
        if self.folders > MAX_FOLDERS {
            return Err(ChooseError::TooLarge(format!("links make more than {MAX_FOLDERS} folders of it")));
        }
        if depth == 0 || !open.insert(folder.to_owned()) {
            self.leave_out(inside, "its folders are nested in a circle, or too deep");
            return Ok(());
        }
        let too_many = || ChooseError::TooLarge("its links lead through too many files".to_owned());
        let children = self.tree.children(folder, &mut self.steps).ok_or_else(too_many)?;
        for (name, node) in children {
            if name.chars().any(char::is_control) {
                self.leave_out(&name, "its name has control characters");
                continue;
            }
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            let inside = if inside.is_empty() { name } else { format!("{inside}/{name}") };
            let (path, node) = match node {
                Node::Link(target) => match self.tree.resolve(&path, &mut self.steps) {
                    Some(path) => {
                        let node = self.tree.0.get(&path).cloned().unwrap_or(Node::Other);
                        (path, node)
                    }
                    None if self.steps == 0 => return Err(too_many()),
                    None => {
                        self.leave_out(&inside, &format!("it is a link to {target}, which is not in the image"));
                        continue;
                    }
                },
                node => (path, node),
            };
            match node {
                Node::Directory => self.folder(&path, &inside, open, depth - 1)?,
                Node::File(file) => self.file(inside, file)?,
                Node::Link(_) | Node::Other => self.leave_out(&inside, "it is not a file"),
            }
        }
        open.remove(folder);
        Ok(())
    }

    fn file(&mut self, inside: String, file: FileAt) -> Result<(), ChooseError> {
        self.bytes = self.bytes.saturating_add(file.size);
        if self.bytes > self.max_bytes {
            return Err(ChooseError::TooLarge(format!(
                "the folder has more than {} MiB of files",
                self.max_bytes >> 20
            )));
        }
        if self.chosen.files.len() >= self.max_files {
            return Err(ChooseError::TooLarge(format!("the folder has more than {} files", self.max_files)));
        }
        self.chosen.files.insert(inside, file);
        Ok(())
    }

    fn leave_out(&mut self, inside: &str, why: &str) {
        const MOST: usize = 100;
        if self.chosen.left_out.len() < MOST {
            let shown = |text: &str| text.chars().filter(|c| !c.is_control()).take(200).collect::<String>();
            self.chosen.left_out.push(format!("{}: {}", shown(inside), shown(why)));
        }
    }
}

/// A name in a layer, as a path without `/` in front. A path that leads out of the image is refused with the whole layer,
/// because no tool writes one.
fn plain(path: &str) -> Result<String, String> {
    let shown = || path.chars().filter(|c| !c.is_control()).take(100).collect::<String>();
    if path.len() > MAX_PATH {
        return Err(format!("the name {:?}… is too long", shown()));
    }
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => return Err(format!("the name {:?} leads out of its folder", shown())),
            part if part.contains('\0') => return Err(format!("the name {:?} is not one", shown())),
            part => parts.push(part),
        }
    }
    if parts.len() > MAX_PARTS {
        return Err(format!("the name {:?}… has too many parts", shown()));
    }
    Ok(parts.join("/"))
}
