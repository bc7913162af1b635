//! The servers, how each is started, and what a typical call of each must give.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use onecall_backends::{BackendOptions, HttpOptions, StdioOptions, TransportOptions};
use onecall_mcp::{CallOutput, Era, text_of};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

/// The servers of others, by the registry they come from.
const NPM: [&str; 6] = [
    "server-everything stdio",
    "server-everything http",
    "server-everything sse",
    "server-filesystem",
    "server-memory",
    "server-sequential-thinking",
];
const PYPI: [&str; 3] = ["mcp-server-time", "mcp-server-git", "mcp-server-fetch"];

/// What the test command obtained, or why it did not.
pub(crate) struct Programs {
    node: Result<PathBuf, String>,
    modules: PathBuf,
    python: Result<PathBuf, String>,
    /// The folder with files of ours that servers are started with.
    files: PathBuf,
    /// A folder that servers may write to.
    work: PathBuf,
}

impl Programs {
    pub(crate) fn read(words: &[String]) -> Result<Self, String> {
        let [node, modules, python, files, work] = words else {
            return Err("usage: real NODE MODULES PYTHON FILES WORK".to_owned());
        };
        let program = |word: &String| match word.strip_prefix('-') {
            Some(reason) => Err(reason.to_owned()),
            None => Ok(PathBuf::from(word)),
        };
        Ok(Self {
            node: program(node),
            modules: modules.into(),
            python: program(python),
            files: files.into(),
            work: work.into(),
        })
    }

    /// Servers that cannot be run, each with the reason.
    pub(crate) fn skipped(&self) -> Vec<String> {
        let npm = self.node.as_ref().err().map(|reason| (&NPM[..], reason));
        let pypi = self.python.as_ref().err().map(|reason| (&PYPI[..], reason));
        let groups = npm.into_iter().chain(pypi);
        groups
            .flat_map(|(names, reason)| names.iter().map(move |name| format!("{name} ({reason})")))
            .collect()
    }
}

/// How a result carries its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    StructuredAndText,
    StructuredWrapsText,
    JsonInText,
    PlainText,
    WrappedScalar,
    SplitList,
}

impl Shape {
    pub(crate) const ALL: [Self; 6] = [
        Self::StructuredAndText,
        Self::StructuredWrapsText,
        Self::JsonInText,
        Self::PlainText,
        Self::WrappedScalar,
        Self::SplitList,
    ];
}

/// A call and what must hold of its result.
pub(crate) struct Checked {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    pub(crate) shape: Option<Shape>,
    pub(crate) holds: fn(&CallOutput) -> bool,
}

pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) transport: &'static str,
    command: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
    pub(crate) eras: &'static [Option<Era>],
    pub(crate) tools: usize,
    pub(crate) checks: Vec<Checked>,
    /// It has resources, templates and prompts.
    pub(crate) offers: bool,
    /// One of the servers of others; ours on their SDK is not counted.
    pub(crate) is_counted: bool,
}

/// The era is found by asking.
const FOUND: &[Option<Era>] = &[None];
const BOTH: &[Option<Era>] = &[Some(Era::Modern), Some(Era::Legacy)];

impl Server {
    /// How to reach it; a server over HTTP is started here and lives as long as the child.
    pub(crate) async fn options(&self) -> Result<(BackendOptions, Option<Child>), String> {
        let command = self.command.display().to_string();
        let path = match self.transport {
            "http" => "mcp",
            "sse" => "sse",
            _ => {
                let stdio = StdioOptions {
                    command,
                    args: self.args.clone(),
                    inherited: std::env::vars_os().collect(),
                    env: self.env.clone(),
                    ..StdioOptions::default()
                };
                let options = BackendOptions::new(self.name, TransportOptions::Stdio(stdio));
                return Ok((options, None));
            }
        };
        let (port, child) = self.listening(&command).await?;
        let http = HttpOptions {
            url: format!("http://127.0.0.1:{port}/{path}"),
            ..HttpOptions::default()
        };
        let transport = if path == "sse" {
            TransportOptions::Sse(http)
        } else {
            TransportOptions::Http(http)
        };
        Ok((BackendOptions::new(self.name, transport), Some(child)))
    }

    async fn listening(&self, command: &str) -> Result<(u16, Child), String> {
        let mut child = Command::new(command)
            .args(&self.args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("cannot start `{command}`: {error}"))?;
        let stderr = child.stderr.take().ok_or("it has no stderr")?;
        let mut lines = BufReader::new(stderr).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if let Some(port) = line.strip_prefix("listening on ") {
                let port = port.parse().map_err(|_| format!("no port: {line}"))?;
                // What else it says must not fill the pipe.
                tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
                return Ok((port, child));
            }
        }
        Err("it ended before it listened".to_owned())
    }
}

/// Every server whose program there is.
pub(crate) fn all(programs: &Programs, pages: &Pages) -> Result<Vec<Server>, String> {
    let mut servers = Vec::new();
    if let Ok(node) = &programs.node {
        servers.extend(npm(programs, node)?);
    }
    if let Ok(python) = &programs.python {
        servers.extend(pypi(programs, python, pages)?);
    }
    Ok(servers)
}

fn npm(programs: &Programs, node: &Path) -> Result<Vec<Server>, String> {
    let script = |name: &str| {
        let package = format!("@modelcontextprotocol/server-{name}/dist/index.js");
        programs.modules.join(package).display().to_string()
    };
    let greeting = programs.work.join("greeting.txt");
    write(&greeting, "hello")?;
    let stdio =
        |name: &'static str, args: Vec<String>, tools: usize, checks: Vec<Checked>| Server {
            name,
            transport: "stdio",
            command: node.to_owned(),
            args,
            env: Vec::new(),
            eras: FOUND,
            tools,
            checks,
            offers: false,
            is_counted: true,
        };
    let mut servers: Vec<Server> = ["stdio", "http", "sse"]
        .map(|transport| everything(&script("everything"), &programs.files, transport, &stdio))
        .into();
    let folder = programs.work.display().to_string();
    servers.push(stdio(
        "server-filesystem",
        vec![script("filesystem"), folder],
        14,
        vec![Checked {
            tool: "read_text_file",
            arguments: json!({ "path": greeting }),
            shape: Some(Shape::StructuredWrapsText),
            holds: |output| output.structured() == Some(&json!({ "content": "hello" })),
        }],
    ));
    let mut memory = stdio(
        "server-memory",
        vec![script("memory")],
        9,
        vec![Checked {
            tool: "create_entities",
            arguments: json!({ "entities": [{ "name": "tea", "entityType": "drink", "observations": ["hot"] }] }),
            shape: Some(Shape::StructuredAndText),
            holds: |output| {
                let created = output
                    .structured()
                    .and_then(|own| own.pointer("/entities/0/name"));
                created == Some(&json!("tea")) && output.text_json().is_some()
            },
        }],
    );
    let graph = programs.work.join("graph.json").display().to_string();
    memory.env.push(("MEMORY_FILE_PATH".to_owned(), graph));
    servers.push(memory);
    let thought = json!({ "thought": "t", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1 });
    servers.push(stdio(
        "server-sequential-thinking",
        vec![script("sequential-thinking")],
        1,
        vec![Checked {
            tool: "sequentialthinking",
            arguments: thought,
            shape: Some(Shape::StructuredAndText),
            holds: |output| {
                output
                    .structured()
                    .is_some_and(|own| own["thoughtNumber"] == 1)
            },
        }],
    ));
    Ok(servers)
}

fn everything(
    script: &str,
    files: &Path,
    transport: &'static str,
    stdio: &dyn Fn(&'static str, Vec<String>, usize, Vec<Checked>) -> Server,
) -> Server {
    let mode = match transport {
        "http" => "streamableHttp",
        other => other,
    };
    let args = vec![script.to_owned(), mode.to_owned()];
    let checks = vec![
        Checked {
            tool: "get-structured-content",
            arguments: json!({ "location": "New York" }),
            shape: Some(Shape::StructuredAndText),
            holds: |output| output.structured() == output.text_json().as_ref(),
        },
        Checked {
            tool: "get-sum",
            arguments: json!({ "a": 1, "b": 2 }),
            shape: Some(Shape::PlainText),
            holds: |output| texts(output) == "The sum of 1 and 2 is 3.",
        },
        Checked {
            tool: "get-env",
            arguments: json!({}),
            shape: Some(Shape::JsonInText),
            holds: |output| output.structured().is_none() && output.text_json().is_some(),
        },
        Checked {
            tool: "get-resource-links",
            arguments: json!({ "count": 1 }),
            shape: None,
            holds: |output| output.content()[1]["type"] == "resource_link",
        },
        Checked {
            tool: "get-tiny-image",
            arguments: json!({}),
            shape: None,
            holds: |output| {
                output
                    .content()
                    .iter()
                    .any(|block| block["type"] == "image")
            },
        },
    ];
    // Over HTTP our client can be asked, and two tools that ask are added.
    let tools = if transport == "http" { 15 } else { 13 };
    let mut server = stdio("server-everything", args, tools, checks);
    server.transport = transport;
    server.offers = true;
    if transport != "stdio" {
        let preload = files.join("loopback.cjs").display().to_string();
        server.args.splice(0..0, ["--require".to_owned(), preload]);
    }
    server
}

fn pypi(programs: &Programs, python: &Path, pages: &Pages) -> Result<Vec<Server>, String> {
    let beside = |program: &str| python.with_file_name(program);
    let repository = programs.work.join("repository");
    git(&repository)?;
    let server = |name: &'static str, args: &[&str], tools: usize, check: Checked| Server {
        name,
        transport: "stdio",
        command: beside(name),
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        env: Vec::new(),
        eras: BOTH,
        tools,
        checks: vec![check],
        offers: false,
        is_counted: true,
    };
    let noon =
        json!({ "source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo" });
    let time = Checked {
        tool: "convert_time",
        arguments: noon,
        shape: Some(Shape::StructuredAndText),
        holds: |output| {
            output
                .structured()
                .is_some_and(|own| own["time_difference"] == "+9.0h")
        },
    };
    let status = Checked {
        tool: "git_status",
        arguments: json!({ "repo_path": repository }),
        shape: Some(Shape::PlainText),
        holds: |output| texts(output).contains("No commits yet"),
    };
    let fetch = Checked {
        tool: "fetch",
        arguments: json!({ "url": pages.url }),
        shape: Some(Shape::PlainText),
        holds: |output| texts(output).contains("hello from a page"),
    };
    let open = ["--ignore-robots-txt", "--allow-private-ips"];
    let shapes = programs.files.join("shapes.py").display().to_string();
    Ok(vec![
        server("mcp-server-time", &[], 2, time),
        server("mcp-server-git", &[], 12, status),
        server("mcp-server-fetch", &open, 1, fetch),
        Server {
            name: "shapes (Python SDK)",
            command: python.to_owned(),
            checks: returned(),
            is_counted: false,
            ..server("python", &[&shapes], 2, returned().remove(0))
        },
    ])
}

/// What functions of the Python SDK commonly return.
fn returned() -> Vec<Checked> {
    vec![
        Checked {
            tool: "number",
            arguments: json!({}),
            shape: Some(Shape::WrappedScalar),
            holds: |output| output.structured() == Some(&json!({ "result": 7 })),
        },
        Checked {
            tool: "words",
            arguments: json!({}),
            shape: Some(Shape::SplitList),
            holds: |output| output.content().len() == 2,
        },
    ]
}

fn texts(output: &CallOutput) -> String {
    text_of(output.content())
}

fn git(repository: &Path) -> Result<(), String> {
    let init = std::process::Command::new("git")
        .args(["init", "--quiet"])
        .arg(repository)
        .status();
    match init {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("cannot make a repository: {other:?}")),
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text)
        .map_err(|error| format!("cannot write `{}`: {error}", path.display()))
}

/// A web server with one page.
pub(crate) struct Pages {
    pub(crate) url: String,
}

impl Pages {
    pub(crate) async fn start() -> std::io::Result<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/page", listener.local_addr()?);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut request = [0; 4096];
                    let _ = stream.read(&mut request).await;
                    let body = "<html><body><main><p>hello from a page</p></main></body></html>";
                    let head = format!(
                        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                        body.len()
                    );
                    let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
                });
            }
        });
        Ok(Self { url })
    }
}
