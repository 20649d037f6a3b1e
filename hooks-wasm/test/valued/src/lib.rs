//! Tells what it sees of the values of its module, and changes them: for tests of values.
//!
//! It sets `replicas` of the section `web`, and `seen` of the configuration. Where `refuse` of the configuration is set, it sets
//! a port that is no number, too. It never writes to the cluster.

use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::Value;
use boathook_sdk::values;

fn config() -> &'static str {
    "{configVersion: v1, onStartup: 1}"
}

fn run(_: Context) -> Result<()> {
    let (seen, config): (Value, Value) = match (values::get(), values::config()) {
        (Ok(seen), Ok(config)) => (seen, config),
        (Err(error), _) | (_, Err(error)) => {
            log::info!("no values: {error}");
            return Ok(());
        }
    };
    log::info!("port={} region={} config={}", seen["web"]["port"], seen["global"]["region"], config["web"]);
    values::set("/web/replicas", &3)?;
    values::set("/web/gone", &1)?;
    values::remove("/web/gone")?;
    values::set_config("/web/seen", "yes")?;
    values::set_config("/web/gone", "yes")?;
    values::remove_config("/web/gone")?;
    if config["web"]["refuse"] == true {
        values::set("/web/port", "text")?;
    }
    Ok(())
}

boathook_sdk::hook!(config, run);
