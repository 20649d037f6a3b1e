//! What the operator needs for a hook's webhooks: webhook configurations, the CustomResourceDefinitions that the hook
//! converts, and the Secret with its certificates. Deletion is not limited to names, because the names of
//! configurations of removed hooks are no longer known.

use boathook_core::model::HookSpec;

use super::{
    super::{
        access::{Access, Part, Place, Who},
        error::NeedsError,
        layout::Layout,
    },
    Collector,
};

/// The verbs to create, find and remove objects whose names are not known in advance.
const KEEP: [&str; 4] = ["create", "delete", "list", "watch"];

pub(super) fn collect(spec: &HookSpec, layout: &Layout, out: &mut Collector<'_>) -> Result<(), NeedsError> {
    if spec.admission.is_empty() && spec.conversions.is_empty() {
        return Ok(());
    }
    registrations(spec, layout.tenants.is_empty(), out)?;
    conversions(spec, out)?;
    match &layout.webhook_secret {
        Some(secret) => certificates(secret, &layout.namespace, out),
        None => Ok(()),
    }
}

/// Both kinds for every hook, because registrations of an earlier version must be removed.
fn registrations(spec: &HookSpec, named: bool, out: &mut Collector<'_>) -> Result<(), NeedsError> {
    // The name of a bundle's hook contains the name of its HookBundle, which is not known here.
    let name = named.then(|| spec.name.configuration());
    for resource in ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] {
        let access = |name: Option<&str>, verb| cluster("admissionregistration.k8s.io", resource, name, verb);
        for verb in KEEP {
            out.add(&Who::Host, &Part::Webhooks, access(None, verb))?;
        }
        for verb in ["get", "update"] {
            out.add(&Who::Host, &Part::Webhooks, access(name.as_deref(), verb))?;
        }
    }
    Ok(())
}

fn conversions(spec: &HookSpec, out: &mut Collector<'_>) -> Result<(), NeedsError> {
    let access = |name: Option<&str>, verb| cluster("apiextensions.k8s.io", "customresourcedefinitions", name, verb);
    for verb in ["list", "watch"] {
        out.add(&Who::Host, &Part::Webhooks, access(None, verb))?;
    }
    for binding in &spec.conversions {
        for verb in ["get", "patch"] {
            let part = Part::Conversion(binding.crd.to_string());
            out.add(&Who::Host, &part, access(Some(&binding.crd), verb))?;
        }
    }
    Ok(())
}

/// RBAC does not know the name of a new object.
fn certificates(secret: &str, namespace: &str, out: &mut Collector<'_>) -> Result<(), NeedsError> {
    for (name, verb) in [(None, "create"), (Some(secret), "get"), (Some(secret), "update"), (Some(secret), "watch")] {
        let access = Access {
            place: Place::Namespace(namespace.to_owned()),
            group: String::new(),
            resource: "secrets".to_owned(),
            name: name.map(str::to_owned),
            verb: verb.to_owned(),
        };
        out.add(&Who::Host, &Part::Webhooks, access)?;
    }
    Ok(())
}

fn cluster(group: &str, resource: &str, name: Option<&str>, verb: &str) -> Access {
    let name = name.map(str::to_owned);
    Access {
        place: Place::Cluster,
        group: group.to_owned(),
        resource: resource.to_owned(),
        name,
        verb: verb.to_owned(),
    }
}
