// The TypeScript client: goes through the same cases as calls.py and prints the same JSON object.
//
// usage: node calls.mjs ERA SERVER
//   ERA     auto (the newest both sides speak) or legacy
//   SERVER  a URL, or a JSON list with the command of a stdio server

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const PACKAGE = "@modelcontextprotocol/client";
const modules = process.env.ONECALL_TEST_MODULES;
const require = createRequire(modules + "/");
const { Client, StreamableHTTPClientTransport } = require(PACKAGE);
const { StdioClientTransport } = require(PACKAGE + "/stdio");

const [era, server] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

const person = { action: "accept", wait: 0, meanwhile: null };

const client = new Client(
  { name: "calls", version: "1" },
  {
    capabilities: { elicitation: { form: {} } },
    versionNegotiation: { mode: era },
  },
);
client.setRequestHandler("elicitation/create", async () => {
  const { action, wait, meanwhile } = person;
  await new Promise((resolve) => setTimeout(resolve, wait));
  if (meanwhile) await meanwhile();
  return action === "accept" ? { action, content: { ok: true } } : { action };
});

const isStdio = server.startsWith("[");
if (isStdio) {
  const [command, ...args] = JSON.parse(server);
  await client.connect(new StdioClientTransport({ command, args }));
} else {
  await client.connect(new StreamableHTTPClientTransport(new URL(server)));
}

async function call(name, args, onprogress) {
  const result = await client.callTool({ name, arguments: args }, { onprogress });
  if (result.isError) {
    return result._meta?.["dev.onecall/error"]?.code ?? "an error without a code";
  }
  return result.structuredContent;
}

const cases = {};
const { tools } = await client.listTools();
cases.list = tools.map((tool) => tool.name).filter((name) => !name.includes("_")).sort();
cases.call = await call("greet", { who: "Ada" });
const seen = [];
await call("slowly", {}, ({ progress }) => seen.push(progress));
cases.progress = seen.length > 1 && seen.every((value, index) => index === 0 || value > seen[index - 1]);
for (const action of ["accept", "decline", "cancel"]) {
  person.action = action;
  cases[action] = await call("ship", {});
}
person.action = "accept";
person.wait = 2000;
cases.timeout = await call("hurry", {});
person.wait = 0;
if (!isStdio && era !== "legacy") {
  person.meanwhile = async () => {
    process.stdout.write("restart\n");
    await lines.next();
  };
  cases.restart = await call("ship", {});
}
const { version } = JSON.parse(readFileSync(`${modules}/${PACKAGE}/package.json`, "utf8"));
const protocol = client.getNegotiatedProtocolVersion();
process.stdout.write(JSON.stringify({ client: "typescript", version, protocol, cases }) + "\n");
await client.close();
process.exit(0);
