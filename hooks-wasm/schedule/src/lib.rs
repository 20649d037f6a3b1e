//! Says which of its three clocks struck, every 5 seconds, every 10 seconds and every 10 minutes.
//!
//! It never looks at the cluster.

use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::{Value, json};

fn config() -> Config {
    Config::new()
        .schedule(Schedule::new("*/10 * * * * *").name("every 10 sec"))
        .schedule(Schedule::new("*/5 * * * * *").name("every 5 sec"))
        .schedule(Schedule::new("0 */10 * * * *").name("every 10 min"))
}

fn run(ctx: Context) -> Result<()> {
    let told: Vec<Value> =
        ctx.triggers.iter().map(|trigger| json!({"binding": trigger.binding, "type": "Schedule"})).collect();
    log::info!("Message from schedule hook: {}", Value::Array(told));
    Ok(())
}

boathook_sdk::hook!(config, run);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use boathook_sdk::testing::{Kit, Run};

    #[test]
    fn ticks_that_come_together_are_told_in_one_line() {
        let mut kit = Kit::new(config, run);
        let ran = kit.run(Run::new().schedule("every 5 sec").schedule("every 10 sec")).ok();
        let lines: Vec<_> = ran.log.iter().map(|line| line.message.as_str()).collect();
        let told = r#"[{"binding":"every 5 sec","type":"Schedule"},{"binding":"every 10 sec","type":"Schedule"}]"#;
        assert_eq!(lines, [format!("Message from schedule hook: {told}")]);
    }
}
