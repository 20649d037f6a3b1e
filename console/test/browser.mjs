// A real Chromium, and a page of it that counts clicks and notices what the console must not do.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { PATIENCE } from "./operator.mjs";

const PLACES = [process.env.BOATHOOK_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
/** The pictures that the book has. They are written only if that is asked for, because each test makes others. */
const BOOK = ["why", "dark"];
const IMAGES = new URL("../../docs/images", import.meta.url).pathname;

/** Where a picture is written, if it is. BOATHOOK_PICTURES names a directory for all of them. */
function place(name) {
  if (process.env.BOATHOOK_PICTURES) return process.env.BOATHOOK_PICTURES;
  return process.env.BOATHOOK_UPDATE_DOCS && BOOK.includes(name) ? IMAGES : undefined;
}

export async function launch() {
  const executablePath = PLACES.find((path) => path && existsSync(path));
  assert.ok(executablePath, "there is no Chromium: install it (apt-get install chromium), or name it in BOATHOOK_CHROMIUM");
  // Root cannot have Chromium's sandbox, and the pages are our own.
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
}

export class Visit {
  static async start(browser, url, options = {}) {
    const context = await browser.newContext({ viewport: { width: 1180, height: 760 }, colorScheme: "light", ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
    const visit = new Visit();
    Object.assign(visit, { context, page, clicks: 0, complaints: [], foreign: [], origin: new URL(url).origin });
    page.on("pageerror", (error) => visit.complaints.push(String(error)));
    page.on("console", (message) => {
      // A refusal is a part of what is tested. A violation of the policy is not.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) visit.complaints.push(message.text());
    });
    page.on("request", (request) => {
      if (new URL(request.url()).origin !== visit.origin) visit.foreign.push(request.url());
    });
    await page.goto(url);
    return visit;
  }

  /** A click of a person. */
  async click(locator) {
    this.clicks += 1;
    await locator.click();
  }

  async picture(name) {
    const directory = place(name);
    if (!directory) return;
    await mkdir(directory, { recursive: true });
    await this.page.screenshot({ path: join(directory, `console-${name}.png`) });
  }

  /** Call it at the end: nothing was loaded from elsewhere, and nothing failed. */
  async end() {
    assert.deepEqual(this.foreign, [], "the page requests nothing from elsewhere");
    assert.deepEqual(this.complaints, [], "the page has no errors");
    await this.context.close();
  }
}
