//! Documents without `configVersion`: the form of shell-operator's first articles. They are translated into what the
//! same would be in v1, with a warning. Their contexts are those of v1, too.

use super::{kubernetes, permission, policy, reader::Fields, schedule};
use crate::model::{HookName, HookSpec, QueueName, StartupBinding};

const DEPRECATED: &str = "has no configVersion, so that it is read as version v0, which is deprecated: write \
    \"configVersion: v1\", and \"kubernetes\" for \"onKubernetesEvent\" (in it executeHookOnEvent for event, \
    executeHookOnSynchronization: false, labelSelector for selector, nameSelector.matchNames for objectName, \
    namespace.nameSelector for namespaceSelector); `boathook inspect` prints it that way";

pub(super) fn read(document: &Fields<'_, '_>, hook: &HookName) -> Option<HookSpec> {
    let spec = HookSpec {
        name: hook.clone(),
        on_startup: document.integer("onStartup").map(|order| StartupBinding {
            order,
            queue: QueueName::main(),
            retry: Default::default(),
        }),
        schedules: document.any_items("schedule").map(|item| schedule::read_v0(&item, hook)).collect(),
        kubernetes: document.any_items("onKubernetesEvent").map(|item| kubernetes::read_v0(&item, hook)).collect(),
        admission: Vec::new(),
        conversions: Vec::new(),
        permissions: permission::read(document).into(),
        limits: document.fields("limits").map(|fields| policy::limits(&fields)).unwrap_or_default(),
        concurrency: 1,
        rate: None,
        combine: false,
        failure_events: None,
        warnings: Vec::new(),
    };
    if is_newer(document) {
        return None;
    }
    document.finish();
    check_triggers(document, &spec);
    document.reader().warn("", DEPRECATED);
    Some(spec)
}

/// An author who writes keys of v1 has forgotten the version.
fn is_newer(document: &Fields<'_, '_>) -> bool {
    let newer = document.unknown().into_iter().find(|key| super::v1::is_known(key));
    if let Some(key) = newer {
        let message = format!("is missing; \"{key}\" is known from v1 on: add \"configVersion: v1\"");
        document.wrong("configVersion", message);
    }
    newer.is_some()
}

fn check_triggers(document: &Fields<'_, '_>, spec: &HookSpec) {
    let reader = document.reader();
    if spec.is_idle() && reader.is_clean() {
        reader.wrong(
            "",
            "has no configVersion and no binding: add \"configVersion: v1\" and onStartup, schedule or kubernetes",
        );
    }
}
