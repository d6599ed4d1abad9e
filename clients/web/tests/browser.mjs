// A headless Chromium for the tests: one JSON command a line on stdin, one JSON answer a line on stdout. {id, page, op, ...}: ops open,
// evaluate, home (evaluates where the viewer's home is: its worker, or the page), drag, drop, dblclick, press, click, choose, fill, shot, wait, waitHome, metrics, close. `page` names one of several. Errors come back as {id, error}.
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const browser = await chromium.launch({ executablePath: process.argv[2], args: ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader",
  "--enable-unsafe-swiftshader", "--host-resolver-rules=MAP robot.test 127.0.0.1", "--disable-dev-shm-usage"] });
const pages = new Map();

async function open({ page, url, width = 1280, height = 800, dark = false, init = "" }) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light" });
  const opened = await context.newPage();
  if (init) await opened.addInitScript(init);  // before the page's own scripts
  const said = [];
  opened.on("pageerror", (error) => said.push(error.stack ?? String(error)));
  opened.on("console", (message) => { if (message.type() === "error") said.push(message.text()); });
  pages.set(page, { opened, said });
  await opened.goto(url, { waitUntil: "domcontentloaded", timeout: 120000 });
}

// From (x, y) to (x + dx, y + dy), held there for a while; modifiers such as ["Shift"].
async function drag(page, { x, y, dx, dy, hold_ms = 500, modifiers = [] }) {
  for (const key of modifiers) await page.keyboard.down(key);
  await page.mouse.move(x, y);
  await page.mouse.down();
  for (let i = 1; i <= 10; ++i) await page.mouse.move(x + (dx * i) / 10, y + (dy * i) / 10);
  await page.waitForTimeout(hold_ms);
}

// Asked from outside: the page's policy forbids evaluating text inside.
async function wait(page, ask, { script, timeout_ms = 20000 }) {
  for (const end = Date.now() + timeout_ms; ; await new Promise((next) => setTimeout(next, 50))) {
    const value = await ask().catch(() => null);
    if (value) return value;
    if (Date.now() > end) throw new Error(`not within ${timeout_ms} ms: ${script}; the page says ${JSON.stringify(await page.evaluate("tactus.summary()").catch(String))}`);
  }
}

// The browser's own book-keeping of the page's main thread since the first call: processor seconds of all tasks, of those scripts, style, layout.
async function metrics(entry) {
  if (!entry.session) {
    entry.session = await entry.opened.context().newCDPSession(entry.opened);
    await entry.session.send("Performance.enable", { timeDomain: "threadTicks" });
  }
  const { metrics: found } = await entry.session.send("Performance.getMetrics");
  return Object.fromEntries(found.map(({ name, value }) => [name, value]));
}

// In the home, when it has taken what the page told it until now: input is not overtaken by who asks what became of it.
async function inHome(page, script) {
  await page.evaluate("tactus.settled()");
  const worker = page.workers()[0];
  return worker ? worker.evaluate(script) : page.evaluate(script);
}

async function act(command) {
  if (command.op === "open") return open(command);
  const entry = pages.get(command.page), { opened: page, said } = entry;
  switch (command.op) {
    case "evaluate": return page.evaluate(command.script);
    case "home": return inHome(page, command.script);
    case "wait": return wait(page, () => page.evaluate(command.script), command);
    case "waitHome": return wait(page, () => inHome(page, command.script), command);
    case "drag": return drag(page, command);
    case "drop": await page.mouse.up(); for (const key of command.modifiers ?? []) await page.keyboard.up(key); return true;
    case "dblclick": return page.mouse.dblclick(command.x, command.y);
    case "press": return page.keyboard.press(command.key);
    case "click": return page.click(command.selector);
    case "choose": return page.selectOption(command.selector, command.value);
    case "shot": await page.screenshot({ path: command.path, clip: command.clip, timeout: 120000 }); return true;
    case "fill": await page.fill(command.selector, command.value); return page.dispatchEvent(command.selector, "change");
    case "metrics": return metrics(entry);
    case "said": return said.splice(0);
    case "close": return page.context().close();
    default: throw new Error(`found op ${command.op}`);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  try {
    process.stdout.write(`${JSON.stringify({ id: command.id, value: (await act(command)) ?? null })}\n`);
  } catch (error) {
    process.stdout.write(`${JSON.stringify({ id: command.id, error: String(error) })}\n`);
  }
}
await browser.close();
