import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Refused, get, onSignedOut, token } from "./api.js";
import { Change, Changes, Explain } from "./views/changes.jsx";
import { Hook, Hooks } from "./views/hooks.jsx";
import { Modules, Queues, Usage } from "./views/rest.jsx";
import { Run, Runs } from "./views/runs.jsx";

const TABS = [
  ["hooks", "Hooks"],
  ["runs", "Runs"],
  ["changes", "Changes"],
  ["why", "Why?"],
  ["queues", "Queues"],
  ["usage", "Usage"],
  ["modules", "Modules"],
];

/**
 * `boathook dev` sends the browser here with a secret, which neither the address nor the history keeps. Any page can send it
 * here with another one, so a token that is accepted stays. Returns the secret if it is one to try.
 */
function takeSecret() {
  const given = /^#secret=(.*)$/.exec(location.hash)?.[1];
  if (given === undefined) return null;
  history.replaceState(null, "", "#/hooks");
  try {
    return decodeURIComponent(given) || null;
  } catch {
    // Somebody typed it.
    return null;
  }
}

/** Takes the secret unless the tab has a token that is accepted. */
async function useSecret(secret) {
  const before = token.get();
  if (before !== null) {
    try {
      await get("live-runs");
      return;
    } catch (error) {
      // Without an answer, nothing is known of the token.
      if (error.status !== 401) return;
    }
  }
  token.set(secret);
}

function route() {
  try {
    return location.hash.replace(/^#\//, "").split("/").map(decodeURIComponent);
  } catch {
    // Somebody typed it.
    return ["hooks"];
  }
}

function view([name, first, second]) {
  switch (name) {
    case "runs":
      return second ? <Run key={second} hook={first} id={second} /> : <Runs />;
    case "changes":
      return first ? <Change key={`${first} ${second}`} run={first} version={second} /> : <Changes />;
    case "why":
      return <Explain />;
    case "queues":
      return <Queues />;
    case "usage":
      return <Usage />;
    case "modules":
      return <Modules />;
    default:
      return first ? <Hook key={first} name={first} /> : <Hooks />;
  }
}

function App() {
  const [at, go] = useState(route());
  const [inside, enter] = useState(token.get() !== null);
  const [refused, refuse] = useState(null);
  const main = useRef();

  useEffect(() => {
    const onHash = () => {
      const secret = takeSecret();
      if (secret) useSecret(secret).then(() => (refuse(null), enter(true)));
      go(route());
      main.current?.focus({ preventScroll: true });
      scrollTo(0, 0);
    };
    addEventListener("hashchange", onHash);
    onSignedOut((error) => {
      refuse(error);
      token.clear();
      enter(false);
    });
    return () => removeEventListener("hashchange", onHash);
  }, []);

  if (!inside) return <SignIn refused={refused} onIn={() => enter(true)} />;
  const current = TABS.some(([name]) => name === at[0]) ? at[0] : "hooks";
  document.title = `${TABS.find(([name]) => name === current)[1]} · Boathook`;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        to the content
      </a>
      <header>
        <strong>Boathook</strong>
        <nav aria-label="Views">
          {TABS.map(([name, title]) => (
            <a key={name} href={`#/${name}`} aria-current={name === current ? "page" : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <button
          class="quiet"
          onClick={() => {
            token.clear();
            refuse(null);
            enter(false);
          }}
        >
          Sign out
        </button>
      </header>
      <main ref={main} id="main" tabIndex={-1}>
        {view(at)}
      </main>
    </>
  );
}

function SignIn({ refused, onIn }) {
  const [error, fail] = useState(refused);
  const [text, set] = useState("");
  const onSubmit = async (event) => {
    event.preventDefault();
    token.set(text.trim());
    try {
      await get("live-runs");
      onIn();
    } catch (problem) {
      token.clear();
      fail(problem);
    }
  };
  return (
    <main class="sign-in">
      <h1>Boathook</h1>
      <p>
        This console shows what hooks do. It needs a token of a user who may get the non-resource URL <code>/boathook/console</code>, for example of a
        ServiceAccount:
      </p>
      <pre>kubectl create token NAME</pre>
      <p>
        If <code>boathook dev</code> serves it, open the address that the command printed.
      </p>
      {error instanceof Refused ? (
        <p class="notice bad" role="alert">
          {error.message}
        </p>
      ) : (
        <p class="notice" role="status">
          This tab has no token, so the console shows nothing.
        </p>
      )}
      <form onSubmit={onSubmit}>
        <label for="token">Token</label>
        <input id="token" type="password" required autocomplete="off" value={text} onInput={(event) => set(event.currentTarget.value)} />
        <button>Sign in</button>
      </form>
    </main>
  );
}

const start = () => render(<App />, document.getElementById("app"));
const secret = takeSecret();
if (secret) useSecret(secret).then(start);
else start();
