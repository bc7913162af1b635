//! Files of editors: their variables in the configuration that `init` makes of them.

use crate::setup::at;
use crate::support::program;
use serde_json::json;

#[test]
fn variables_of_an_editor_are_understood_or_named() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let shop = home.join("shop");
    std::fs::create_dir_all(shop.join(".vscode")).unwrap();
    let servers = json!({
        "inputs": [{ "type": "promptString", "id": "gh-token", "password": true }],
        "servers": {
            "demo": {
                "type": "stdio", "command": program(), "cwd": "${workspaceFolder}",
                "args": ["demo", "--ledger", "${workspaceFolder}/ledger.txt"],
                "env": { "H": "${userHome}", "C": "${config:editor.fontSize}" },
            },
            "web": {
                "type": "http", "url": "http://127.0.0.1:1/mcp",
                "headers": { "A": "Bearer ${input:gh-token}", "B": "Bearer ${env:NOT_SET_HERE}" },
            },
        },
    });
    std::fs::write(shop.join(".vscode/mcp.json"), servers.to_string()).unwrap();
    let made = at(&home, &["init", "shop"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    for line in [
        "set GH_TOKEN, which stands for the input `gh-token` of `web`",
        "set NOT_SET_HERE, which stands for a part of `headers` of `web`",
        "warning: `${config:editor.fontSize}` in `env` of `demo` is filled in by an editor alone",
    ] {
        assert!(made.err.contains(line), "{line} is not in {}", made.err);
    }
    let yaml = std::fs::read_to_string(shop.join("onecall.yaml")).unwrap();
    let (shown, at_home) = (shop.display(), home.display());
    for part in [
        format!("cwd: \"{shown}\""),
        format!("\"{shown}/ledger.txt\""),
        format!("\"H\": \"{at_home}\""),
        "\"A\": \"Bearer ${GH_TOKEN}\"".to_owned(),
        "\"B\": \"Bearer ${NOT_SET_HERE}\"".to_owned(),
    ] {
        assert!(yaml.contains(&part), "{part} is not in {yaml}");
    }
}
