//! The yardstick of [`crate::flow`]: what somebody would write by hand for a hundred listeners. Each has a
//! task that reads what it wants of an object, compares, and passes it on to a task that does the work.
//! No order between queues, no retries, no snapshots, no bounds but the channels'.

use std::{collections::HashMap, sync::Arc, time::Instant};

use anyhow::{Context as _, Result};
use boathook_core::model::Object;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinSet,
};

use crate::{
    Paths,
    alone::Alone,
    flow::{BINDINGS, Changes, Figures, WINDOW, thousands_a_second},
};

/// Measures one round.
pub async fn measure(paths: &Paths) -> Result<Figures> {
    let changes = Changes::new()?;
    let alone = Alone::new(&paths.guest("test/noop.wasm")?).map_err(|error| anyhow::anyhow!("{error:?}"))?;
    let queue = through(None, &changes).await?;
    let runs = through(Some(Arc::new(alone)), &changes).await?;
    Ok(Figures { queue, runs, together: 1.0 })
}

async fn through(work: Option<Arc<Alone>>, changes: &Changes) -> Result<f64> {
    let room = Arc::new(Semaphore::new(WINDOW * BINDINGS));
    let (mut inlets, mut tasks) = (Vec::new(), JoinSet::new());
    for _ in 0..BINDINGS {
        let (inlet, objects) = mpsc::channel(1024);
        let (outlet, wanted) = mpsc::channel(1024);
        inlets.push(inlet);
        tasks.spawn(filter(objects, outlet));
        tasks.spawn(do_work(wanted, work.clone(), room.clone()));
    }
    pass(&changes.warm_up, &inlets, &room).await?;
    let started = Instant::now();
    pass(&changes.measured, &inlets, &room).await?;
    let took = started.elapsed();
    drop(inlets);
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok(thousands_a_second(took))
}

async fn pass(objects: &[Arc<Object>], inlets: &[mpsc::Sender<Arc<Object>>], room: &Semaphore) -> Result<()> {
    for object in objects {
        room.acquire_many(u32::try_from(BINDINGS)?).await?.forget();
        for inlet in inlets {
            inlet.send(object.clone()).await.ok().context("a listener is gone")?;
        }
    }
    drop(room.acquire_many(u32::try_from(WINDOW * BINDINGS)?).await?);
    Ok(())
}

#[derive(Deserialize)]
struct Wanted<'a> {
    #[serde(borrow)]
    data: &'a RawValue,
}

async fn filter(mut objects: mpsc::Receiver<Arc<Object>>, outlet: mpsc::Sender<Box<str>>) -> Result<()> {
    let mut known: HashMap<Arc<str>, Box<str>> = HashMap::new();
    while let Some(object) = objects.recv().await {
        let data: Box<str> = serde_json::from_str::<Wanted<'_>>(&object.json)?.data.get().into();
        if known.insert(object.key.name.clone(), data.clone()).as_ref() != Some(&data) {
            outlet.send(data).await?;
        }
    }
    Ok(())
}

async fn do_work(mut wanted: mpsc::Receiver<Box<str>>, work: Option<Arc<Alone>>, room: Arc<Semaphore>) -> Result<()> {
    while wanted.recv().await.is_some() {
        if let Some(alone) = &work {
            alone.run().await.map_err(|error| anyhow::anyhow!("{error:?}"))?;
        }
        room.add_permits(1);
    }
    Ok(())
}
