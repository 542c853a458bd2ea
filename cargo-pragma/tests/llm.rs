//! A model as engine, against a server that speaks both wire formats.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cargo_pragma::history::Timing;
use cargo_pragma::llm::{
    Client, Conversation, HttpTransport, Ledger, LlmCoder, LlmError, Message, ModelConfig,
    Recorder, Replayer, Role, Secret, Stop, Task, Transport,
};
use cargo_pragma::tune::{Engine, Feedback, Origin, Step};
use httpmock::prelude::*;
use serde_json::{Value, json};

const KEY: &str = "sk-very-secret";

fn config(server: &MockServer, dialect: &str) -> ModelConfig {
    let base = match dialect {
        "anthropic" => server.base_url(),
        _ => server.url("/v1"),
    };
    let table = json!({ "model": format!("{dialect}:m"), "base-url": base, "max-tokens": 1000 });
    ModelConfig::read(None, &table).expect("is a model")
}

fn http() -> Box<dyn Transport> {
    Box::new(HttpTransport::new(Duration::from_secs(20), None).expect("can be set up"))
}

/// A client that does not wait, and the waits that it was told to make.
fn client(
    config: ModelConfig,
    transport: Box<dyn Transport>,
    ledger: Ledger,
) -> (Client, Arc<Mutex<Vec<Duration>>>) {
    let waits = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&waits);
    let client = Client::new(config, Some(Secret::new(KEY)), transport, ledger).with_sleep(
        Box::new(move |wait| kept.lock().expect("is not poisoned").push(wait)),
    );
    (client, waits)
}

fn conversation() -> Conversation {
    Conversation {
        system: "system".to_owned(),
        messages: vec![Message {
            role: Role::User,
            text: "write".to_owned(),
        }],
    }
}

/// A stream in Anthropic's format.
fn anthropic(text: &str, stop: &str) -> String {
    let events = [
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": 100, "output_tokens": 1 } } }),
        json!({ "type": "content_block_delta", "delta": { "type": "text_delta", "text": text } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": stop }, "usage": { "output_tokens": 50 } }),
        json!({ "type": "message_stop" }),
    ];
    events
        .iter()
        .map(|event| format!("event: x\ndata: {event}\n\n"))
        .collect()
}

fn openai(text: &str, stop: &str) -> String {
    let events = [
        json!({ "choices": [{ "delta": { "content": text } }] }),
        json!({ "choices": [{ "delta": {}, "finish_reason": stop }] }),
        json!({ "choices": [], "usage": { "prompt_tokens": 100, "completion_tokens": 50 } }),
    ];
    let mut stream: String = events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    stream.push_str("data: [DONE]\n\n");
    stream
}

fn kernel(body: &str) -> String {
    format!(
        "Doubling the vectors halves the loads. More words.\n```rust\npub unsafe fn k() {{ {body} }}\n```\n"
    )
}

#[test]
fn both_formats_are_spoken() {
    let server = MockServer::start();
    let messages = server.mock(|when, then| {
        when.method(POST)
            .path("/v1/messages")
            .header("x-api-key", KEY)
            .header("anthropic-version", "2023-06-01")
            .json_body_includes(r#"{"model":"m","max_tokens":1000,"stream":true,"messages":[{"role":"user","content":"write"}]}"#);
        then.status(200).body(anthropic("hello", "end_turn"));
    });
    let completions = server.mock(|when, then| {
        when.method(POST)
            .path("/v1/chat/completions")
            .header("authorization", format!("Bearer {KEY}"))
            .json_body_includes(r#"{"model":"m","stream":true,"messages":[{"role":"system","content":"system"},{"role":"user","content":"write"}]}"#);
        then.status(200).body(openai("hello", "stop"));
    });
    for dialect in ["anthropic", "openai"] {
        let (mut client, _) = client(config(&server, dialect), http(), Ledger::default());
        let mut heard = 0;
        let answer = client
            .ask(&conversation(), &mut |length| heard = length)
            .expect("answers");
        assert_eq!(
            (answer.text.as_str(), answer.stop),
            ("hello", Stop::Finished)
        );
        assert_eq!(heard, 5);
        assert_eq!(client.ledger.spent.total(), 150);
    }
    messages.assert();
    completions.assert();
}

#[test]
fn servers_that_are_busy_are_asked_again() {
    let server = MockServer::start();
    let busy = server.mock(|when, then| {
        when.method(POST);
        then.status(429)
            .header("retry-after", "7")
            .body(r#"{"error":{"message":"slow down"}}"#);
    });
    let (mut client, waits) = client(config(&server, "openai"), http(), Ledger::default());
    let error = client
        .ask(&conversation(), &mut |_| {})
        .expect_err("is busy");
    assert_eq!(
        error,
        LlmError::Unavailable("slow down (status 429)".to_owned())
    );
    busy.assert_calls(6);
    assert_eq!(
        *waits.lock().expect("is not poisoned"),
        [Duration::from_secs(7); 5]
    );
}

#[test]
fn failures_that_waiting_does_not_mend_are_final_and_do_not_show_the_key() {
    for (status, body, expected) in [
        (
            401,
            format!(r#"{{"error":{{"message":"bad key {KEY}"}}}}"#),
            "refuses the key: bad key [secret]",
        ),
        (404, "not here".to_owned(), "does not know the model"),
        (
            400,
            r#"{"error":{"message":"prompt is too long"}}"#.to_owned(),
            "too long",
        ),
        (400, String::new(), "status 400"),
    ] {
        let server = MockServer::start();
        let mock = server.mock(|when, then| {
            when.method(POST);
            then.status(status).body(body);
        });
        let (mut client, waits) = client(config(&server, "anthropic"), http(), Ledger::default());
        let error = client
            .ask(&conversation(), &mut |_| {})
            .expect_err("is refused")
            .to_string();
        assert!(error.contains(expected) && !error.contains(KEY), "{error}");
        mock.assert_calls(1);
        assert!(waits.lock().expect("is not poisoned").is_empty());
    }
}

#[test]
fn an_unreachable_server_is_unavailable() {
    let table = json!({ "model": "openai:m", "base-url": "http://127.0.0.1:9/v1" });
    let config = ModelConfig::read(None, &table).expect("is a model");
    let (mut client, waits) = client(config, http(), Ledger::default());
    let error = client
        .ask(&conversation(), &mut |_| {})
        .expect_err("nobody listens");
    assert!(matches!(error, LlmError::Unavailable(_)), "{error}");
    assert_eq!(waits.lock().expect("is not poisoned").len(), 5);
}

#[test]
fn a_cut_off_answer_is_continued() {
    let server = MockServer::start();
    let second = server.mock(|when, then| {
        when.method(POST).body_includes("cut off");
        then.status(200).body(anthropic("one }\n```", "end_turn"));
    });
    let first = server.mock(|when, then| {
        when.method(POST).body_excludes("cut off");
        then.status(200)
            .body(anthropic("```rust\npub fn k() { ", "max_tokens"));
    });
    let (mut client, _) = client(config(&server, "anthropic"), http(), Ledger::default());
    let answer = client.ask(&conversation(), &mut |_| {}).expect("answers");
    assert_eq!(answer.text, "```rust\npub fn k() {one }\n```");
    assert_eq!(answer.stop, Stop::Finished);
    first.assert();
    second.assert();
    assert_eq!(client.ledger.calls, 2);
}

fn task() -> Task {
    Task {
        function: "fn f(x: &[f32]) -> f32 { todo }".to_owned(),
        helpers: String::new(),
        machine: "a machine".to_owned(),
        signature: "pub unsafe fn k()".to_owned(),
        shapes: "none".to_owned(),
        accuracy: "exact".to_owned(),
        rules: "none".to_owned(),
        target: "x86-64-v4".to_owned(),
        tune: "n = 4096".to_owned(),
        entry: "k".to_owned(),
        start: None,
        roof_ns: Some(100.0),
    }
}

fn measured(ns: f64) -> Feedback {
    Feedback::Measured {
        timing: Timing {
            tune: "n = 4096".to_owned(),
            threads: 1,
            reference_ns: 1000.0,
            candidate_ns: ns,
            speedup: 1000.0 / ns,
            ci95: (990.0 / ns, 1010.0 / ns),
        },
        facts: None,
    }
}

fn source(step: Step) -> String {
    match step {
        Step::Try(proposal) => {
            assert!(matches!(&proposal.origin, Origin::Model(by) if by.model == "anthropic:m"));
            proposal.source
        }
        Step::Stop(reason) => panic!("stopped: {reason}"),
    }
}

#[test]
fn a_search_writes_repairs_improves_and_stops() {
    let server = MockServer::start();
    let answer = |marker: &'static str, text: String| {
        server.mock(move |when, then| {
            when.method(POST).body_includes(marker);
            then.status(200).body(anthropic(&text, "end_turn"));
        })
    };
    let write = answer("Write a kernel for x86-64-v4", kernel("first"));
    let repair = answer("cannot find value `first`", kernel("second"));
    let improve = answer("500 ns a call", kernel("third"));
    let (client, _) = client(config(&server, "anthropic"), http(), Ledger::default());
    let client = Rc::new(RefCell::new(client));
    let mut coder = LlmCoder::new(
        Rc::clone(&client) as Rc<RefCell<dyn cargo_pragma::llm::Writer>>,
        task(),
    )
    .expect("the prompts fit");
    assert!(source(coder.next(None)).contains("first"));
    let refused = Feedback::Refused {
        reason: "it does not compile".to_owned(),
        evidence: "error[E0425]: cannot find value `first`".to_owned(),
    };
    assert!(source(coder.next(Some(&refused))).contains("second"));
    assert!(source(coder.next(Some(&measured(500.0)))).contains("third"));
    match coder.next(Some(&measured(102.0))) {
        Step::Stop(reason) => assert!(reason.contains("roof"), "{reason}"),
        Step::Try(_) => panic!("the roof is reached"),
    }
    for mock in [write, repair, improve] {
        mock.assert();
    }
    assert_eq!(coder.roof_fraction(200.0), Some(0.5));
    assert!(!client.borrow().ledger.sentence().contains('$'));
}

#[test]
fn a_search_without_gain_or_without_code_ends() {
    let server = MockServer::start();
    server.mock(|when, then| {
        when.method(POST);
        then.status(200)
            .body(anthropic(&kernel("same"), "end_turn"));
    });
    let (client, _) = client(config(&server, "anthropic"), http(), Ledger::default());
    let mut coder = LlmCoder::new(Rc::new(RefCell::new(client)), task()).expect("the prompts fit");
    let mut step = coder.next(None);
    let mut tried = 0;
    while let Step::Try(_) = step {
        tried += 1;
        assert!(tried < 20);
        step = coder.next(Some(&measured(500.0)));
    }
    assert_eq!(step, Step::Stop("no gain in 5 versions".to_owned()));

    let server = MockServer::start();
    let silent = server.mock(|when, then| {
        when.method(POST);
        then.status(200)
            .body(anthropic("I would rather talk.", "end_turn"));
    });
    let (client, _) = self::client(config(&server, "anthropic"), http(), Ledger::default());
    let mut coder = LlmCoder::new(Rc::new(RefCell::new(client)), task()).expect("the prompts fit");
    assert_eq!(
        coder.next(None),
        Step::Stop("3 answers in a row held no kernel".to_owned())
    );
    silent.assert_calls(3);
}

#[test]
fn the_budget_stops_a_search_after_the_call_that_passes_it() {
    let server = MockServer::start();
    let calls = server.mock(|when, then| {
        when.method(POST);
        then.status(200).body(anthropic(&kernel("x"), "end_turn"));
    });
    let (client, _) = client(
        config(&server, "anthropic"),
        http(),
        Ledger::new(None, None, Some(151)),
    );
    let mut coder = LlmCoder::new(Rc::new(RefCell::new(client)), task()).expect("the prompts fit");
    source(coder.next(None));
    source(coder.next(Some(&measured(500.0))));
    assert_eq!(
        coder.next(Some(&measured(400.0))),
        Step::Stop("the budget of tokens is spent".to_owned())
    );
    calls.assert_calls(2);
}

#[test]
fn a_recorded_search_is_played_without_a_server() {
    let dir = tempfile::tempdir().expect("a directory");
    let tape = dir.path().join("tape");
    let server = MockServer::start();
    server.mock(|when, then| {
        when.method(POST);
        then.status(200).body(anthropic(&kernel("x"), "end_turn"));
    });
    let model = config(&server, "anthropic");
    let run = |transport: Box<dyn Transport>| {
        let (client, _) = client(model.clone(), transport, Ledger::default());
        let mut coder =
            LlmCoder::new(Rc::new(RefCell::new(client)), task()).expect("the prompts fit");
        (coder.next(None), coder.next(Some(&measured(500.0))))
    };
    let recorded = run(Box::new(Recorder::new(http(), &tape).expect("is empty")));
    drop(server);
    let played = run(Box::new(Replayer::new(&tape).expect("is there")));
    assert_eq!(recorded, played);
    for entry in std::fs::read_dir(&tape).expect("is there") {
        let text = std::fs::read_to_string(entry.expect("can be read").path()).expect("is text");
        assert!(!text.contains(KEY));
        let take: Value = serde_json::from_str(&text).expect("is JSON");
        assert_eq!(take["status"], 200);
    }
}
