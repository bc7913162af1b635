// The two command-line clients of the Inspector package, driven as a shell would: the cases of calls.py as far
// as each can go, printed as the same JSON object. `inspector` cannot be asked anything, `mcpdo` can.
//
// usage: node commands.mjs PROGRAM ERA SERVER
//   PROGRAM  inspector or mcpdo
//   ERA      modern or legacy
//   SERVER   a URL, or a JSON list with the command of a stdio server

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const [program, era, server] = process.argv.slice(2);
const folder = join(process.env.ONECALL_TEST_MODULES, "@modelcontextprotocol/inspector");
const home = mkdtempSync(join(tmpdir(), "onecall-inspector-"));
const env = { ...process.env, HOME: home, MCP_INSPECTOR_SECRET_STORE: "file" };
const isStdio = server.startsWith("[");

/** Runs a script of the package and reads the JSON it prints, whatever its exit code. */
async function run(script, words) {
  const child = promisify(execFile)(process.execPath, [join(folder, script), ...words], { env });
  const { stdout, stderr } = await child.catch((error) => error);
  try {
    return JSON.parse(stdout || stderr);
  } catch {
    throw new Error(`${words.join(" ")}: ${stdout}${stderr}`);
  }
}

function outcome(result) {
  if (!result.isError) return result.structuredContent;
  return result._meta?.["dev.onecall/error"]?.code ?? "an error without a code";
}

const plain = (tools) => tools.map((tool) => tool.name).filter((name) => !name.includes("_")).sort();

async function inspector() {
  const common = ["--cli", "--format", "json", "--protocol-era", era];
  const target = isStdio
    ? JSON.parse(server)
    : ["--transport", "http", "--server-url", server];
  const ask = (words) => run("clients/launcher/build/index.js", [...common, ...target, ...words]);
  const listed = await ask(["--method", "tools/list"]);
  const words = ["--method", "tools/call", "--tool-name", "greet", "--tool-args-json", '{"who":"Ada"}'];
  const called = await ask(words);
  return {
    list: plain((listed.result ?? listed).tools),
    call: outcome(called.result ?? called),
  };
}

async function mcpdo() {
  const script = "clients/mcpdo/build/mcp-bin.js";
  const start = isStdio ? ["connect", "--era", era, "--", ...JSON.parse(server)] : ["connect", server, "--era", era];
  const connection = (await run(script, ["--format", "json", ...start])).name;
  const ask = (words) => run(script, ["--format", "json", "--connection", connection, ...words]);
  const answer = async (tool, words, meanwhile) => {
    const pending = (await ask(["tools/call", tool])).elicitationPending;
    if (meanwhile) await meanwhile();
    return outcome(await ask(["elicitation/respond", pending.elicitationId, ...words]));
  };
  const cases = {};
  try {
    cases.list = plain((await ask(["tools/list"])).tools);
    cases.call = outcome(await ask(["tools/call", "greet", "who:=Ada"]));
    cases.accept = await answer("ship", ["ok:=true"]);
    cases.decline = await answer("ship", ["--decline"]);
    cases.cancel = await answer("ship", ["--cancel"]);
    if (!isStdio && era !== "legacy") {
      const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
      cases.restart = await answer("ship", ["ok:=true"], async () => {
        process.stdout.write("restart\n");
        await lines.next();
      });
    }
  } finally {
    await run(script, ["--format", "json", "daemon", "stop"]);
  }
  return cases;
}

const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
const cases = await (program === "mcpdo" ? mcpdo() : inspector());
process.stdout.write(JSON.stringify({ client: program, version, protocol: era, cases }) + "\n");
rmSync(home, { recursive: true, force: true });
process.exit(0);
