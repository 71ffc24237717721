//! Both roles by the crate h3, for stacks that have connections for it.

use crate::Failure;
use crate::lines::{Answer, Content, Fetch};
use crate::options::Options;
use bytes::{Buf, Bytes};
use h3::client::RequestStream;
use h3::quic::{BidiStream, Connection, RecvStream};
use h3::server::RequestResolver;
use http::{Request, Response};
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;
use tokio::task::JoinSet;

/// `H3_NO_ERROR`, RFC 9114 section 8.1.
pub const NO_ERROR: u32 = 0x100;

/// A connection of a stack, whose parts may be used by several threads.
pub trait Quic:
    Connection<Bytes, OpenStreams: Send, SendStream: Send, RecvStream: Send, BidiStream: Messages>
    + Send
    + 'static
{
}

/// The stream of a request.
pub trait Messages:
    BidiStream<Bytes, SendStream: Send + 'static, RecvStream: RecvStream<Buf: Send> + Send + 'static>
    + RecvStream<Buf: Send>
    + Send
    + 'static
{
}

/// Fetches every file, in as many rounds as requested, and calls `close` to close the connection.
pub async fn fetch(
    options: &Options,
    connection: impl Quic,
    name: &str,
    start: Instant,
    close: impl FnOnce(),
) -> Result<(), Failure> {
    let handshake_s = start.elapsed().as_secs_f64();
    let (mut http, mut sender) = h3::client::new(connection).await?;
    let closed = tokio::spawn(async move { poll_fn(|context| http.poll_close(context)).await });
    for _ in 0..options.rounds {
        let mut fetches = JoinSet::new();
        for wanted in &options.requests {
            let fetch = Fetch::begin(wanted, start, handshake_s, name)?;
            let request = Request::get(format!("https://{}{}", options.name, wanted.0))
                .header("user-agent", "httpbed-stacks")
                .body(())?;
            let (mut sending, receiving) = sender.send_request(request).await?.split();
            let mut finish = Box::pin(async move { sending.finish().await });
            // It begins in the order of the requests; with msquic it lasts until all is acknowledged.
            // Its error does not matter: a server may stop reading a request that it has answered
            // (RFC 9114 section 4.1).
            if poll_fn(|context| Poll::Ready(finish.as_mut().poll(context))).await.is_pending() {
                tokio::spawn(finish);
            }
            fetches.spawn(receive(fetch, receiving));
        }
        while let Some(result) = fetches.join_next().await {
            result??;
        }
    }
    drop(sender);
    close();
    closed.await?;
    Ok(())
}

async fn receive<S>(mut fetch: Fetch, mut stream: RequestStream<S, Bytes>) -> Result<(), Failure>
where
    S: RecvStream<Buf: Send> + Send + 'static,
{
    fetch.status = stream.recv_response().await?.status().as_u16();
    while let Some(mut data) = stream.recv_data().await? {
        while data.has_remaining() {
            let bytes = data.chunk().len();
            fetch.receive(data.chunk())?;
            data.advance(bytes);
        }
    }
    fetch.end();
    Ok(())
}

/// Answers the requests of a connection until it ends.
pub async fn serve(content: Arc<Content>, connection: impl Quic, number: u64) -> Result<(), Failure> {
    let mut http = h3::server::Connection::new(connection).await?;
    while let Some(resolver) = http.accept().await? {
        let content = content.clone();
        tokio::spawn(async move {
            if let Err(error) = respond(&content, resolver, number).await {
                eprintln!("connection {number}: {error}");
            }
        });
    }
    Ok(())
}

async fn respond(
    content: &Content,
    resolver: RequestResolver<impl Quic, Bytes>,
    number: u64,
) -> Result<(), Failure> {
    let (request, mut stream) = resolver.resolve_request().await?;
    // Otherwise the stack asks the client to stop sending, which curl takes for the response's end.
    while stream.recv_data().await?.is_some() {}
    let authority = request.uri().authority().map_or("", |authority| authority.as_str());
    let mut answer = content.answer(request.uri().path(), authority);
    let result = send(&mut answer, &mut stream).await;
    // The client cannot end before the log has its line: msquic finishes when all is acknowledged.
    content.record(&answer, number)?;
    result?;
    Ok(stream.finish().await?)
}

async fn send(
    answer: &mut Answer,
    stream: &mut h3::server::RequestStream<impl Messages, Bytes>,
) -> Result<(), Failure> {
    let response = Response::builder().status(answer.status).header("content-length", answer.length);
    stream.send_response(response.body(())?).await?;
    loop {
        let data = answer.next()?;
        let bytes = data.len() as u64;
        if bytes == 0 {
            return Ok(());
        }
        stream.send_data(data).await?;
        answer.sent += bytes;
    }
}
