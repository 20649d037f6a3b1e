// Queues, what hooks use, modules, and sets of operators.
import { useState } from "preact/hooks";
import { useView } from "../api.js";
import { bytes, has, millis, seconds } from "../format.js";
import { HookLink, Search, State, Status, Table } from "../parts.jsx";

export function Queues() {
  const view = useView("queues", 2000);
  const queues = view.data?.active ?? [];
  return (
    <section>
      <h1>Queues</h1>
      <Status view={view}>
        <p class="faint">{view.data?.summary.totalTasks} triggers are not done</p>
        {queues.map((queue) => (
          <article key={queue.name}>
            <h2>{queue.name}</h2>
            <p>
              {queue.tasksCount} triggers, {queue.running} running, {queue.retrying} wait for a retry, {bytes(queue.bytes)}
              {queue.oldestSeconds !== undefined && `, the oldest for ${seconds(queue.oldestSeconds)}`}. {queue.status && `Now: ${queue.status}.`}
            </p>
            <Table
              head={["Hook", "Trigger", "Failure", "Failures", "Age"]}
              texts={3}
              rows={queue.tasks.map((task) => ({
                key: task.index,
                cells: [
                  <HookLink name={task.hook} />,
                  [task.binding, task.cause, task.object].filter(Boolean).join(" "),
                  task.lastFailure ?? "",
                  task.failures,
                  seconds(task.ageSeconds),
                ],
              }))}
            />
          </article>
        ))}
        {queues.length === 0 && <p class="faint">All queues are empty.</p>}
      </Status>
    </section>
  );
}

const USED = [
  ["CPU", (used) => millis(used.cpuMs)],
  ["Time", (used) => millis(used.durationMs)],
  ["Runs", (used) => used.runs],
  ["Failed", (used) => used.failed],
  ["Memory", (used) => bytes(used.memoryPeakBytes)],
  ["Calls", (used) => used.hostCalls],
  ["Requests", (used) => used.requests],
  ["Sent", (used) => bytes(used.sentBytes)],
  ["Received", (used) => bytes(used.receivedBytes)],
  ["Objects", (used) => used.keptObjects],
  ["Kept", (used) => bytes(used.keptBytes)],
];
/** More rows than this make the page slow. The rest is found by its name. */
const MOST = 500;

export function Usage() {
  const view = useView("top", 5000);
  const [wanted, want] = useState("");
  const table = (title, all, name) => {
    const found = all.filter((one) => has(one.name, wanted));
    if (found.length === 0) return null;
    return (
      <>
        <h2>{title}</h2>
        <Table
          head={["Name", ...USED.map(([head]) => head)]}
          rows={found.slice(0, MOST).map((one) => ({ key: one.name, cells: [name(one), ...USED.map(([, show]) => show(one))] }))}
        />
        {found.length > MOST && <p class="faint">and {found.length - MOST} more, which use less: search for them</p>}
      </>
    );
  };
  return (
    <section>
      <h1>Usage</h1>
      <Search value={wanted} onInput={want} placeholder="Search by name" />
      <Status view={view}>
        <p class="faint">since {view.data?.since}, those with the most CPU time first</p>
        {view.data && table("Hooks", view.data.hooks, (one) => <HookLink name={one.name} />)}
        {view.data && table("Bundles", view.data.bundles, (one) => one.name)}
        {view.data && table("Namespaces", view.data.namespaces, (one) => one.name)}
      </Status>
    </section>
  );
}

export function Modules() {
  const view = useView("modules", 3000);
  const sets = useView("sets", 3000);
  const [wanted, want] = useState("");
  const on = (module) => (module.on === null || module.on === undefined ? "not known" : module.on ? "on" : "off");
  const found = (sets.data?.sets ?? []).filter((set) => has(`${set.parent} ${set.hook} ${set.members.join(" ")}`, wanted));
  return (
    <section>
      <h1>Modules and operators</h1>
      <h2>Modules</h2>
      {view.error ? (
        <p class="faint">{view.error.message}</p>
      ) : (
        <Status view={view}>
          {view.data?.problems.map((problem) => (
            <p class="notice bad" key={problem}>
              {problem}
            </p>
          ))}
          <Table
            head={["Module", "On", "At", "Why", "Failures"]}
            texts={4}
            rows={(view.data?.modules ?? []).map((module) => ({
              key: module.name,
              cells: [
                module.name,
                on(module),
                <State of={module.error ? "failed" : module.at} />,
                [module.error, module.waitsFor && `waits for ${module.waitsFor}`].filter(Boolean).join("; ") || module.why,
                module.failures,
              ],
            }))}
          />
        </Status>
      )}
      <h2>Sets</h2>
      <p class="faint">The objects that hooks with reconcile bindings keep for their custom resources.</p>
      <Search value={wanted} onInput={want} placeholder="Search sets" />
      <Status view={sets}>
        <Table
          head={["Parent", "Hook", "Binding", "Objects", "Count"]}
          texts={4}
          rows={found.map((set) => ({
            key: `${set.hook} ${set.binding} ${set.parent}`,
            cells: [
              <>
                {set.parent} {set.queued && <span class="state warn">waits</span>}
              </>,
              <HookLink name={set.hook} />,
              set.binding,
              <>
                {set.members.join(", ")}
                {set.membersCount > set.members.length && ", …"}
              </>,
              set.membersCount,
            ],
          }))}
        />
        {sets.data?.count === 0 && <p class="faint">No hook has a reconcile binding with parents.</p>}
        {sets.data && sets.data.count > sets.data.sets.length && <p class="faint">{sets.data.count} sets in all</p>}
      </Status>
    </section>
  );
}
