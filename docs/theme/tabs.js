// Turns each `<div class="tabs">` of paragraphs "NAME:" with a block of code each into tabs. The language that somebody
// chose is shown everywhere, and remembered.
"use strict";

(() => {
  const KEY = "boathook-language";
  const groups = [...document.querySelectorAll("div.tabs")].map(made);
  const remembered = localStorage.getItem(KEY);
  if (remembered) show(remembered);

  /** The panels of one group, by name. */
  function made(group) {
    const bar = document.createElement("div");
    bar.setAttribute("role", "tablist");
    const tabs = new Map();
    for (const title of [...group.querySelectorAll(":scope > p")]) {
      const name = title.textContent.replace(/:$/, "");
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.setAttribute("role", "tab");
      button.addEventListener("click", () => {
        localStorage.setItem(KEY, name);
        show(name);
      });
      bar.append(button);
      const panel = title.nextElementSibling;
      panel.setAttribute("role", "tabpanel");
      title.remove();
      tabs.set(name, { button, panel });
    }
    group.prepend(bar);
    select(tabs, tabs.keys().next().value);
    return tabs;
  }

  /** Groups without this language stay as they are. */
  function show(name) {
    for (const tabs of groups) if (tabs.has(name)) select(tabs, name);
  }

  function select(tabs, chosen) {
    for (const [name, { button, panel }] of tabs) {
      button.setAttribute("aria-selected", String(name === chosen));
      panel.hidden = name !== chosen;
    }
  }
})();
