//! The module that `boathook new --from module` creates.

use boathook_modules::ModuleName;

use super::{super::name::ProjectName, File, Source};

/// The hook, which is executable.
const HOOK: &str = "hooks/nodes.sh";

const FILES: [Source; 12] = [
    ("README.md", include_str!("../../../../../templates/module/README.md.in")),
    ("values.yaml", include_str!("../../../../../templates/module/values.yaml.in")),
    ("module.yaml", include_str!("../../../../../templates/module/module.yaml")),
    ("openapi/config-values.yaml", include_str!("../../../../../templates/module/openapi/config-values.yaml")),
    ("openapi/values.yaml", include_str!("../../../../../templates/module/openapi/values.yaml")),
    ("templates/configmap.yaml", include_str!("../../../../../templates/module/templates/configmap.yaml.in")),
    ("templates/service.yaml", include_str!("../../../../../templates/module/templates/service.yaml.in")),
    (HOOK, include_str!("../../../../../templates/module/hooks/nodes.sh.in")),
    ("hooks/nodes.boathook.yaml", include_str!("../../../../../templates/module/hooks/nodes.boathook.yaml")),
    ("scenarios/settings.yaml", include_str!("../../../../../templates/module/scenarios/settings.yaml.in")),
    ("scenarios/refused.yaml", include_str!("../../../../../templates/module/scenarios/refused.yaml")),
    (
        "scenarios/snapshots/settings.yaml",
        include_str!("../../../../../templates/module/scenarios/snapshots/settings.yaml.in"),
    ),
];

/// The files of a module with this name. `None`: it is not the name of a module.
pub(super) fn files(name: &ProjectName) -> Option<Vec<File>> {
    let module: ModuleName = name.as_str().parse().ok()?;
    let fill = |text: &str| text.replace("{{name}}", module.as_str()).replace("{{key}}", module.key());
    let file = |(path, text): &Source| File { path: (*path).to_owned(), text: fill(text), executable: *path == HOOK };
    Some(FILES.iter().map(file).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::{collections::BTreeSet, fs, path::Path};

    use super::{
        super::{super::language::Language, write_project},
        *,
    };
    use crate::module::is_module;

    fn named(name: &str) -> Option<Vec<File>> {
        files(&ProjectName::new(name, Language::Shell).unwrap())
    }

    #[test]
    fn only_templates_of_the_chart_have_something_to_fill_in() {
        let files = named("web-shop").unwrap();
        for file in &files {
            let of_chart = file.path.starts_with("templates/");
            assert!(of_chart || !file.text.contains("{{"), "{}", file.path);
            assert!(!file.text.contains("{{name}}") && !file.text.contains("{{key}}"), "{}", file.path);
        }
        let text = |path: &str| files.iter().find(|file| file.path == path).unwrap().text.clone();
        assert!(text("templates/configmap.yaml").contains("{{ .Values.webShop.message | quote }}"));
        assert!(text("values.yaml").contains("\nwebShopEnabled: true\n"));
        assert!(text("README.md").starts_with("# web-shop\n\n"));
        assert!(named("web-2").is_none(), "a key cannot have it");
    }

    #[test]
    fn it_is_a_module_with_a_hook() {
        let folder = tempfile::tempdir().unwrap();
        let module = folder.path().join("web");
        write_project(&module, &named("web").unwrap()).unwrap();
        assert!(is_module(&module));
        let (module, catalogue) = crate::module::Alone::new(&module).unwrap().read(None).unwrap();
        assert!(catalogue.warnings.is_empty() && catalogue.enabled.contains_key("web"), "{:?}", catalogue.warnings);
        assert_eq!((module.hooks.len(), module.definition.version.map(|it| it.to_string())), (1, Some("0.1.0".into())));
    }

    /// A file that is only in the folder would be missing in modules.
    #[test]
    fn every_file_of_the_template_is_embedded() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../templates/module");
        let (mut found, mut folders) = (BTreeSet::new(), vec![root.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => {
                        let inside = path.strip_prefix(&root).unwrap().display().to_string();
                        found.insert(inside.trim_end_matches(".in").to_owned());
                    }
                }
            }
        }
        assert_eq!(found, FILES.iter().map(|(path, _)| (*path).to_owned()).collect());
    }
}
