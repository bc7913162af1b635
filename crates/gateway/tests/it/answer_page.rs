//! The answer page as browsers use it: where a form may come from, and what a person is shown when it may not.

use crate::client::{Answer, Http};
use crate::world::{World, backend, configured};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{Method, StatusCode};
use onecall_engine::journal::{Filter, Phase};
use serde_json::{Value, json};

/// What Chromium sends with a form, less `Host`, `Origin` and `Referer`.
const CHROMIUM: [(&str, &str); 10] = [
    ("cache-control", "max-age=0"),
    ("upgrade-insecure-requests", "1"),
    ("content-type", "application/x-www-form-urlencoded"),
    (
        "user-agent",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
    ),
    (
        "accept",
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8",
    ),
    ("sec-fetch-site", "same-origin"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-user", "?1"),
    ("sec-fetch-dest", "document"),
    ("accept-language", "en-US,en;q=0.9"),
];

/// A form sent as Chromium sends it from a page at `origin`, to the server known as `host`.
pub(crate) async fn submit(
    client: &Http,
    path: &str,
    (origin, host): (&str, &str),
    form: &str,
) -> Answer {
    let mut headers = CHROMIUM.to_vec();
    let referer = format!("{origin}{path}");
    headers.extend([("origin", origin), ("host", host), ("referer", &referer)]);
    client
        .send(Method::POST, path, &headers, form.to_owned())
        .await
}

/// The path of the page that a call answers with.
pub(crate) async fn page_of(client: &mut Http, call: Value) -> String {
    let pending = client.modern_result("tools/call", call).await;
    let text = pending["content"][0]["text"].as_str().unwrap();
    let rest = text.split_once("/answer/");
    let (_, rest) = rest.unwrap_or_else(|| panic!("no link: {text}"));
    let token = rest.split_whitespace().next().unwrap();
    format!("/answer/{token}")
}

#[tokio::test]
async fn a_browser_sends_the_form_from_wherever_it_got_it() {
    let world = World::start_with(|options| {
        options.host = "0.0.0.0".to_owned();
        options.allow_anonymous = true;
        options.allowed_hosts = vec!["box.example".to_owned()];
    })
    .await;
    let mut client = Http::new(world.address);
    let port = world.address.port();
    for host in [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("192.0.2.7:{port}"),
        format!("[2001:db8::7]:{port}"),
        "box.example".to_owned(),
        "box.example:8080".to_owned(),
    ] {
        let path = page_of(&mut client, json!({ "name": "approve" })).await;
        let page = client
            .send(Method::GET, &path, &[("host", &host)], "")
            .await;
        assert_eq!(page.status, StatusCode::OK, "{host}");
        // With `no-referrer` browsers would say `Origin: null`.
        assert_eq!(page.headers["referrer-policy"], "same-origin");
        let origin = format!("http://{host}");
        let form = "f.name=Ada&action=accept";
        let sent = submit(&client, &path, (&origin, &host), form).await;
        assert_eq!(sent.status, StatusCode::OK, "{host}");
        assert!(sent.text().await.contains("Your answer was taken"));
    }
    world.end().await;
}

#[tokio::test]
async fn a_form_from_elsewhere_is_refused_with_a_page() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let path = page_of(&mut client, json!({ "name": "approve" })).await;
    let here = world.address.to_string();
    let own = format!("http://{here}");
    for (origin, host) in [
        ("https://evil.example", here.as_str()),
        ("null", here.as_str()),
        ("http://evil.example", "evil.example"),
        (own.as_str(), "evil.example"),
    ] {
        let form = "f.name=Eve&action=accept";
        let refused = submit(&client, &path, (origin, host), form).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{origin} {host}");
        let kind = refused.headers["content-type"].to_str().unwrap();
        assert!(kind.starts_with("text/html"), "{kind}");
        let text = refused.text().await;
        assert!(text.contains("cannot be used from here"), "{text}");
    }
    let still = client.send(Method::GET, &path, &[], "").await;
    assert_eq!(still.status, StatusCode::OK);
    world.end().await;
}

/// Workflows that ask for a number up to five: `count` for a day, `hasty` for a moment.
const COUNTING: &str = "
- name: count
  description: Asks
  parameters: {type: object, properties: {}}
  steps:
  - {id: many, type: elicitation, message: 'How many?', timeout: 24h, schema: {type: object, required: [n],
      properties: {n: {type: integer, maximum: 5}, note: {type: string}}}}
- name: hasty
  description: Asks
  parameters: {type: object, properties: {}}
  steps:
  - {id: many, type: elicitation, message: 'How many?', timeout: 200ms, schema: {type: object, required: [n],
      properties: {n: {type: integer}}}}
";

async fn get(client: &Http, path: &str) -> (StatusCode, String) {
    let page = client.send(Method::GET, path, &[], "").await;
    (page.status, page.text().await)
}

async fn post(client: &Http, path: &str, form: &str) -> (StatusCode, String) {
    let kind = [("content-type", "application/x-www-form-urlencoded")];
    let page = client
        .send(Method::POST, path, &kind, form.to_owned())
        .await;
    (page.status, page.text().await)
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_asked_again_on_the_same_page() {
    let world = World::serving(configured(COUNTING)).await;
    let mut client = Http::new(world.address);
    let path = page_of(&mut client, json!({ "name": "count" })).await;
    // The question is open for a day, as its link is.
    let (_, page) = get(&client, &path).await;
    assert!(!page.contains("this link can be used until"), "{page}");
    let unfit = "round=0&f.n=9&f.note=why%3F&action=accept";
    // Sent twice, as by a double click: that is one answer.
    for _ in 0..2 {
        let (status, page) = post(&client, &path, unfit).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(
            page.contains("did not fit: `n` must be at most 5"),
            "{page}"
        );
        assert!(page.contains("name=\"round\" value=\"1\""), "{page}");
        assert!(page.contains("value=\"9\"") && page.contains("value=\"why?\""));
    }
    let (status, page) = post(&client, &path, "round=1&f.n=x&action=accept").await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(page.contains("`n` must be an integer") && page.contains("value=\"x\""));
    let (status, page) = get(&client, &path).await;
    assert_eq!(status, StatusCode::OK);
    assert!(
        page.contains("did not fit: `n` must be at most 5"),
        "{page}"
    );
    for _ in 0..2 {
        let (status, page) = post(&client, &path, "round=1&f.n=3&action=accept").await;
        assert_eq!(status, StatusCode::OK, "{page}");
    }
    let (status, page) = get(&client, &path).await;
    assert_eq!(status, StatusCode::GONE);
    assert!(page.contains("closed: it was answered"), "{page}");
    world.end().await;
}

/// Asks for a yes or no.
const DECIDING: &str = "
- name: decide
  description: Asks
  parameters: {type: object, properties: {}}
  steps:
  - {id: sure, type: elicitation, message: 'Publish?', timeout: 24h, schema: {type: object, required: [ok],
      properties: {ok: {type: boolean}}}}
";

#[tokio::test]
async fn a_form_that_is_sent_at_once_decides_nothing() {
    let world = World::serving(configured(DECIDING)).await;
    let mut client = Http::new(world.address);
    let path = page_of(&mut client, json!({ "name": "decide" })).await;
    for _ in 0..5 {
        let (status, page) = post(&client, &path, "action=accept&round=0").await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{page}");
        assert!(page.contains("choose yes or no for `ok`"), "{page}");
        assert!(page.contains("type=\"radio\""), "{page}");
    }
    let (status, page) = post(&client, &path, "action=accept&round=0&f.ok=true").await;
    assert_eq!(status, StatusCode::OK, "{page}");
    for part in ["Your answer was taken: accepted", "<dt>ok</dt><dd>yes</dd>"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    world.newest_comes_to("decide", Phase::Completed).await;
    let path = page_of(&mut client, json!({ "name": "decide" })).await;
    let (_, page) = post(&client, &path, "action=decline&round=0").await;
    assert!(page.contains("Your answer was taken: declined"), "{page}");
    world.end().await;
}

#[tokio::test]
async fn a_closed_question_tells_how_it_was_closed() {
    let world = World::serving(configured(COUNTING)).await;
    let mut client = Http::new(world.address);
    let path = page_of(&mut client, json!({ "name": "count" })).await;
    for _ in 0..3 {
        let (status, _) = post(&client, &path, "f.n=9&action=accept").await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    }
    let (status, page) = post(&client, &path, "f.n=9&action=accept").await;
    assert_eq!(status, StatusCode::GONE);
    assert!(page.contains("too many answers did not fit"), "{page}");

    let path = page_of(&mut client, json!({ "name": "count" })).await;
    post(&client, &path, "action=decline").await;
    let (status, page) = get(&client, &path).await;
    assert_eq!(status, StatusCode::GONE);
    assert!(page.contains("closed: it was declined"), "{page}");

    let path = page_of(&mut client, json!({ "name": "hasty" })).await;
    world.newest_comes_to("hasty", Phase::Failed).await;
    for (status, page) in [
        get(&client, &path).await,
        post(&client, &path, "f.n=1&action=accept").await,
    ] {
        assert_eq!(status, StatusCode::GONE);
        assert!(page.contains("the time to answer it is over"), "{page}");
    }

    let path = page_of(&mut client, json!({ "name": "count" })).await;
    let runs = world
        .runtime
        .journal()
        .list(Filter::default())
        .await
        .unwrap();
    let run = world.runtime.attach(&runs[0].id).await.unwrap();
    run.cancel("no longer wanted").await;
    world.newest_comes_to("count", Phase::Cancelled).await;
    let (status, page) = get(&client, &path).await;
    assert_eq!(status, StatusCode::GONE);
    assert!(page.contains("the run that asked has ended"), "{page}");
    world.end().await;
}

/// Asks before it calls tools with what is known, what is answered and what comes of other steps.
const DEPLOYING: &str = "
- name: deploy
  description: Deploys
  parameters: {type: object, properties: {what: {type: string}, n: {type: integer}, sign: {type: string, writeOnly: true}}}
  steps:
  - {id: sure, type: elicitation, message: 'Deploy?', timeout: 10m, schema: {type: object, required: [where],
      properties: {where: {type: string}}}}
  - {id: build, tool: demo_echo, dependsOn: [sure], arguments: {text: '{{ .params.what }} to {{ .params.n }}, {{ .params.sign }}'}}
  - {id: push, tool: demo_append, condition: '{{ .steps.sure.output.content.where }}', defaultResults: {n: 0},
      arguments: {text: '{{ .steps.build.output.text }}'}}
  - {id: place, tool: demo_append, arguments: {text: '{{ .steps.sure.output.content.where }}'}}
  - {id: never, tool: demo_append, condition: '{{ eq .params.n 1 }}', dependsOn: [sure], arguments: {text: x}}
  - {id: told, tool: demo_append, arguments: {text: '{{ .params.what }} went {{ .steps.push.output.n }}'}}
";

#[tokio::test]
async fn the_page_says_in_words_what_runs_next() {
    let world = World::serving(configured(DEPLOYING)).await;
    let mut client = Http::new(world.address);
    let arguments = json!({ "what": "site", "n": 3, "sign": "hunter22-secret" });
    let call = json!({ "name": "deploy", "arguments": arguments });
    let path = page_of(&mut client, call).await;
    let (status, page) = get(&client, &path).await;
    assert_eq!(status, StatusCode::OK);
    for text in [
        "<dt>Called by</dt><dd>test 1 (it did not say for whom)</dd>",
        "<dt>With what</dt><dd>site</dd>",
        "<strong>build</strong> calls <code>demo_echo</code>",
        "<dt>text</dt><dd>site to 3, •••</dd>",
        "<strong>push</strong> calls <code>demo_append</code>, only if <em>your answer (<code>where</code>) is true</em>",
        "<dt>text</dt><dd><em>from step <code>build</code> (<code>text</code>)</em></dd>",
        "<dt>text</dt><dd><em>from your answer (<code>where</code>)</em></dd>",
        "<strong>never</strong> calls <code>demo_append</code>, but is skipped",
        "from step <code>push</code>",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    for text in ["path input", "reading", "on error", "hunter22"] {
        assert!(!page.contains(text), "{text}: {page}");
    }
    // The question is open for ten minutes, so the page does not speak of the day that its link could be used.
    assert!(!page.contains("this link can be used until"), "{page}");
    world.end().await;
}

/// Questions with their own handlers, of several lines.
const HANDLING: &str = "
- name: handle
  description: Handles
  parameters: {type: object, properties: {}}
  steps:
  - id: sure
    type: elicitation
    message: |
      Delete all of it?
      It cannot be undone.
      Do you know it?
    schema: {type: object, properties: {n: {type: integer}}}
    onDecline: {action: skip_remaining}
    onCancel: {action: continue}
    defaultResults: {content: {n: 0}}
  - {id: look, tool: demo_add, dependsOn: [sure], arguments: {a: 1, b: 2}}
  - {id: wipe, tool: fixture.test_simple_text, dependsOn: [look], arguments: {text: x},
     condition: '{{ gt .steps.sure.output.content.n 3 }}', defaultResults: {}}
";

#[tokio::test]
async fn the_page_says_what_each_button_does_and_marks_what_may_destroy() {
    // The tools of this backend have no annotations, so by the protocol they may destroy something.
    let mut server = configured(HANDLING);
    server.backends.push(backend("fixture", &["conformance"]));
    let world = World::serving(server).await;
    let mut client = Http::new(world.address);
    let path = page_of(&mut client, json!({ "name": "handle" })).await;
    let (status, page) = get(&client, &path).await;
    assert_eq!(status, StatusCode::OK);
    for text in [
        "<title>Delete all of it? · handle</title>",
        "<h1>Delete all of it?</h1><p class=\"message\">It cannot be undone.\nDo you know it?</p>",
        "You say no. The run ends here: the steps above are skipped.",
        "You give no answer. The run continues, and later steps see that you did.",
        "Some may delete or overwrite something.",
        "<strong>look</strong> calls <code>demo_add</code> <span class=\"note\">(only reads)",
        "only if <em>a condition on your answer (<code>n</code>) holds</em> <span class=\"destructive\">",
        "<details open>",
        " min</span> left)",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!page.contains("gt ."), "a program is shown: {page}");
    let order = [
        "<h1>",
        "Who asks",
        "What runs next",
        "<form",
        "value=\"accept\"",
    ];
    let places = order.map(|text| page.find(text).unwrap_or_else(|| panic!("{text}: {page}")));
    assert!(places.is_sorted(), "{places:?}");

    let path = page_of(&mut client, json!({ "name": "handle" })).await;
    let (_, page) = post(&client, &path, "action=decline").await;
    assert!(
        page.contains("<title>Your answer was taken</title>"),
        "{page}"
    );
    world.end().await;
}

#[tokio::test]
async fn the_page_may_run_its_own_script_and_no_other() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let path = page_of(&mut client, json!({ "name": "approve" })).await;
    let page = client.send(Method::GET, &path, &[], "").await;
    let policy = page.headers["content-security-policy"]
        .to_str()
        .unwrap()
        .to_owned();
    let text = page.text().await;
    let (_, script) = text.split_once("<script>").unwrap();
    let (script, _) = script.split_once("</script>").unwrap();
    let hash = ring::digest::digest(&ring::digest::SHA256, script.as_bytes());
    let allowed = format!("script-src 'sha256-{}';", STANDARD.encode(hash));
    assert!(policy.contains(&allowed), "{allowed}: {policy}");
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    assert!(
        text.contains(" UTC</time>"),
        "without the script times are in UTC"
    );
    world.end().await;
}
