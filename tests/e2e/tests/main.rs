//! Black-box suite: the real binaries on a real API server, and on the local cluster.
//!
//! Every test stands once in the list below and runs on both: `real::…` on etcd and kube-apiserver,
//! `local::…` on `boathook cluster`, so that the two cannot drift apart. A function missing from the
//! list is dead code, which the compiler reports. What takes minutes by the clock and hardly any work is
//! in `endurance::…`, on the real backend: tests begin in the order of their names, and these are first.
//! It never calls Boathook's own code.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod admission;
#[path = "../../attack/mod.rs"]
mod attack;
mod authorized_key;
mod aws_service;
mod bindings;
mod bundles;
mod burst;
mod calls;
mod causes;
mod certificates;
mod control_plane;
mod conversion;
mod copies;
mod faults;
mod grants;
mod harness;
mod internet_access;
mod languages;
mod ledger;
mod lifecycle;
mod loops;
mod module_bundles;
mod modules;
mod node;
mod node_taint;
mod objects;
mod outages;
mod rbac;
mod rbac_webhooks;
mod real_faults;
mod real_replicas;
mod reconcile;
mod reconcile_crashes;
mod registration;
mod registry_secret;
mod replicas;
mod restarts;
mod shell;
mod webhook_restarts;
mod webhooks;

use bundles::{definitions as bundle_definitions, http as bundle_http, rights as bundle_rights};
use shell as shell_corpus;

/// Makes a module for a backend, with a test for each listed function.
macro_rules! on {
    ($module:ident, $backend:ident, { $($area:ident: $($test:ident),+;)+ }) => {
        mod $module {
            $(mod $area {
                $(#[test]
                fn $test() {
                    let name = concat!(stringify!($area), "::", stringify!($test));
                    crate::harness::run(crate::harness::Backend::$backend, name, crate::$area::$test);
                })+
            })+
        }
    };
}

/// Makes the tests of both backends from one list, and those of the real one from the others.
macro_rules! suite {
    (both: $both:tt, real: { $($real:tt)+ }, endurance: $endurance:tt) => {
        on!(local, Local, $both);
        suite!(@real $both, $($real)+);
        on!(endurance, Real, $endurance);
    };
    (@real { $($both:tt)+ }, $($real:tt)+) => {
        on!(real, Real, { $($both)+ $($real)+ });
    };
}

suite! {
    both: {
        registry_secret:
            every_namespace_has_a_copy,
            copies_follow_the_source,
            lost_and_changed_copies_come_back,
            namespaces_opt_out,
            copies_carry_no_foreign_metadata,
            foreign_secrets_stay,
            copies_go_with_the_source;
        internet_access:
            policy_exists_while_labelled,
            removed_policy_comes_back,
            other_values_allow_nothing;
        node_taint:
            taints_follow_labels,
            other_taints_stay,
            unknown_effects_are_passed_over;
        authorized_key:
            each_node_has_the_keys_and_its_part_of_the_status;
        aws_service:
            buckets_and_queues_are_created_put_right_and_deleted,
            two_objects_claim_one_bucket,
            an_operator_that_is_killed_after_any_request_is_continued,
            the_api_goes_away_and_comes_back;
        bindings:
            selectors_choose,
            changes_are_reported,
            kinds_are_found,
            namespaces_come_and_go_with_their_labels,
            metadata_is_enough,
            failed_runs_are_seen_as_events;
        calls:
            answers_are_as_the_interface_says;
        burst:
            a_thousand_namespaces;
        causes:
            every_write_is_linked_to_its_cause;
        loops:
            a_cycle_is_named_with_its_hooks,
            honest_bursts_are_no_loops;
        restarts:
            after_sigterm,
            after_sigkill;
        outages:
            connections_cut;
        replicas:
            killed_under_load,
            handed_over_on_sigterm,
            a_frozen_leader_writes_nothing_more;
        faults:
            connections_cut_every_200_ms,
            killed_in_the_middle_of_a_run,
            a_failing_hook_holds_nobody_up;
        grants:
            a_write_without_permission_is_refused;
        lifecycle:
            waits_for_the_api_server,
            stops_while_it_waits,
            stops_cleanly;
        admission:
            images_are_reviewed,
            pods_get_defaults,
            only_a_hook_denies,
            a_hook_of_any_name;
        conversion:
            all_directions,
            without_the_operator,
            an_object_that_can_not_be_converted;
        registration:
            changes_are_repaired,
            it_goes_with_its_hook,
            uninstall_leaves_nothing;
        webhook_restarts:
            after_sigterm,
            after_sigkill;
        bundles:
            versions_come_wait_and_go_back,
            settings_fit_the_schema,
            what_makes_no_sense_is_refused,
            a_new_version_is_compared_before_it_takes_over,
            nothing_is_left_by_uninstall;
        bundle_http:
            requests_leave_if_they_are_granted_and_opened,
            requests_carry_the_credential_of_a_secret;
        bundle_definitions:
            its_kinds_come_with_it_change_safely_and_stay,
            a_kind_without_a_status_is_told_in_its_bundle_and_in_an_event;
        reconcile:
            an_app_is_created_scaled_and_deleted,
            what_somebody_changes_is_put_right,
            a_parent_with_a_finalizer_is_torn_down,
            orphaned_children_stay,
            a_child_that_loses_its_owner_gets_it_back,
            a_parent_that_goes_without_its_operator_leaves_what_it_does_not_own,
            two_parents_claim_one_object,
            a_refused_child_is_named,
            a_definition_is_upgraded,
            services_are_attached_to_a_stateful_set,
            revisions_of_children_are_kept_and_applied_again,
            a_parent_refers_to_others_and_ends_when_its_hook_says_so;
        languages:
            the_example_is_the_same_operator_in_each_language;
        reconcile_crashes:
            an_operator_that_is_killed_after_any_write_is_continued_by_the_next_one,
            a_decorator_that_is_killed_after_any_write_is_continued_by_the_next_one;
        shell:
            a_secret_is_copied,
            kubectl_changes_the_cluster;
        modules:
            a_chart_is_installed_changed_and_deleted,
            a_module_resource_configures_a_module,
            the_namespace_of_modules_is_a_flag;
        module_bundles:
            a_module_comes_from_a_registry;
    },
    real: {
        shell_corpus:
            the_corpus_comes_to_its_states;
        control_plane:
            operator_outlives_its_restart,
            operator_follows_a_restored_etcd,
            a_restart_keeps_the_cluster,
            it_ends_with_its_parent;
        rbac:
            generated_roles_are_enough,
            every_rule_is_needed,
            a_hook_acts_as_itself,
            a_kind_that_comes_later;
        bundle_rights:
            hooks_act_as_their_service_account,
            generated_roles_are_enough;
        real_faults:
            history_compacted,
            api_server_starts_alone;
        real_replicas:
            the_rights_of_the_manifests_are_enough;
        rbac_webhooks:
            roles_for_webhooks_are_enough,
            every_rule_for_webhooks_is_needed;
    },
    endurance: {
        faults:
            a_hook_fails_for_a_minute;
        real_faults:
            api_server_away_for_20_seconds,
            connections_frozen;
        certificates:
            rotation_drops_no_request;
        bundle_rights:
            a_right_that_goes_ends_the_feed;
    }
}
