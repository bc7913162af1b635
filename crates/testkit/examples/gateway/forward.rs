//! A forwarder: this program again, in a process that copies bytes from one connection to another and does nothing else.

use crate::{Done, Failed};
use std::net::Ipv4Addr;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

/// The word that makes this program a forwarder.
pub(crate) const WORD: &str = "forward";

/// A forwarder in a process of its own.
pub(crate) struct Forwarder {
    child: Child,
    /// Where it listens.
    pub(crate) address: String,
}

impl Forwarder {
    /// Starts one to this address.
    pub(crate) async fn start(to: &str) -> Result<Self, Failed> {
        let mut child = Command::new(std::env::current_exe()?)
            .args([WORD, to])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
        let address = lines.next_line().await?.ok_or("the forwarder has ended")?;
        Ok(Self { child, address })
    }

    pub(crate) async fn end(mut self) -> Done {
        Ok(self.child.kill().await?)
    }
}

/// Forwards until it is ended.
pub(crate) async fn run(to: &str) -> Done {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let line = format!("{}\n", listener.local_addr()?);
    tokio::io::stdout().write_all(line.as_bytes()).await?;
    tokio::io::stdout().flush().await?;
    loop {
        let (mut near, _) = listener.accept().await?;
        let mut far = TcpStream::connect(to).await?;
        near.set_nodelay(true)?;
        far.set_nodelay(true)?;
        tokio::spawn(async move { copy_bidirectional(&mut near, &mut far).await });
    }
}
