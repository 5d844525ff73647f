//! The Lisp workers: what they answer, what ends them, and what cannot be reached from inside. They need an Emacs.

use crate::support::skip::skipped;
use passepartout::domain::label::{Privacy, Trust};
use passepartout::edge::sandbox::{Launcher, SandboxError, Walls};
use passepartout::edge::worker::{Evaluated, Owner, Told, WorkerLimits, Workers};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn launcher() -> Launcher {
    Launcher::at(Path::new(env!("CARGO_BIN_EXE_passepartout-run"))).expect("it was built")
}

fn workers(limits: WorkerLimits) -> Workers {
    Workers::new(launcher(), limits)
}

fn owner(name: &str) -> Owner {
    Owner::Skill(name.to_string())
}

/// Whether this kernel can confine at all; says so when it cannot.
async fn possible() -> bool {
    match workers(WorkerLimits::USUAL).evaluate(&owner("s"), Walls::All, "1", &Told::own(Privacy::Open)).await {
        Err(SandboxError::Unconfined(why)) => {
            skipped(format_args!("Lisp cannot be confined on this machine: {why}"));
            false
        }
        other => {
            assert_eq!(other.expect("an Emacs and a launcher").ended, Evaluated::Value("1".to_string()));
            true
        }
    }
}

async fn say(workers: &Workers, code: &str) -> (Evaluated, String) {
    let answer =
        workers.evaluate(&owner("s"), Walls::All, code, &Told::own(Privacy::Open)).await.expect("it is evaluated");
    (answer.ended, answer.printed)
}

fn value(text: &str) -> Evaluated {
    Evaluated::Value(text.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn lisp_is_evaluated_with_values_errors_output_and_state() {
    if !possible().await {
        return;
    }
    let workers = workers(WorkerLimits::USUAL);
    let cases = [
        ("(+ 1 2)", value("3"), ""),
        ("", value("nil"), ""),
        ("(setq x \"ä\\n\") x ; the last one counts", value("\"ä\n\""), ""),
        ("(defun twice (n) (* 2 n))", value("twice"), ""),
        ("(twice (length x))", value("4"), ""),
        ("(progn (princ \"said\") (message \"told\") 1)", value("1"), "said\ntold"),
        ("(let ((l (list 1))) (setcdr l l) l)", value("#1=(1 . #1#)"), ""),
        ("(throw 'top-level 5)", value("5"), ""),
        ("(car 1)", Evaluated::Error("Wrong type argument: listp, 1 (wrong-type-argument)".to_string()), ""),
        ("(signal 'quit nil)", Evaluated::Error("Quit (quit)".to_string()), ""),
        ("(let ((y 1)) (funcall (lambda () y)))", value("1"), ""),
    ];
    for (code, ended, printed) in cases {
        assert_eq!(say(&workers, code).await, (ended, printed.to_string()), "{code}");
    }
    let (ended, printed) =
        say(&workers, "(progn (dotimes (_ 40000) (princ \"1234567890\")) (make-string 200000 ?b))").await;
    let Evaluated::Value(long) = ended else { panic!("{ended:?}") };
    assert!(long.chars().count() < 100_100 && printed.chars().count() < 100_100);
    assert!(say(&workers, "(make-list 5000 1)").await.0 != value(""), "a long list is cut");
    // Another conversation has an Emacs of its own.
    let other =
        workers.evaluate(&owner("t"), Walls::All, "(boundp 'x)", &Told::own(Privacy::Open)).await.expect("evaluated");
    assert_eq!(other.ended, value("nil"));
    // What was private once makes all that comes after it private.
    let told = workers.evaluate(&owner("t"), Walls::All, "1", &Told::own(Privacy::Private)).await.expect("evaluated");
    assert_eq!(told.told.privacy, Privacy::Private);
    let told = workers.evaluate(&owner("t"), Walls::All, "2", &Told::own(Privacy::Open)).await.expect("evaluated");
    assert_eq!(told.told.privacy, Privacy::Private);
    // So does what came from outside: it may stand in a variable by now.
    let sources = ["a page".to_string()].into();
    let page = Told { privacy: Privacy::Open, trust: Trust::Untrusted, sources };
    for (name, before) in [("u", Told::own(Privacy::Open)), ("v", page.clone())] {
        let one = workers.evaluate(&owner(name), Walls::All, "(setq page \"x\")", &before).await.expect("evaluated");
        assert_eq!(one.told, before);
        let two = workers.evaluate(&owner(name), Walls::All, "page", &Told::own(Privacy::Open)).await;
        assert_eq!(two.expect("evaluated").told, before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_lisp_does_the_next_call_is_answered_rightly() {
    if !possible().await {
        return;
    }
    let workers = workers(WorkerLimits { call: Duration::from_secs(2), ..WorkerLimits::USUAL });
    let hostile = [
        // It hangs.
        "(while t)",
        "(let ((inhibit-quit t)) (while t (ignore-errors (while t))))",
        "(read-from-minibuffer \"\")",
        // It ends itself, or grows.
        "(kill-emacs 3)",
        "(let (l) (while t (setq l (cons (make-string 100000 ?a) l))))",
        "(progn (setq max-lisp-eval-depth 100000000 max-specpdl-size 100000000) (defun f () (f)) (f))",
        // It says what it should not.
        "(send-string-to-terminal \"\\n00000000000000000000000000000000 (:status value :whole t :text \\\"Mg==\\\" :output \\\"\\\")\\n\")",
        "(send-string-to-terminal (make-string 5000000 ?x))",
        "(make-thread (lambda () (while t (send-string-to-terminal \"x\") (thread-yield))))",
        "(make-thread (lambda () (thread-yield) (while t)))",
        // It changes what answers.
        "(progn (send-string-to-terminal \"(:status\") (fset 'read-from-minibuffer 'ignore) 1)",
        "(progn (fset 'base64-encode-string 'ignore) (fset 'concat 'ignore) 1)",
        "(progn (fset 'while 'ignore) (fset 'funcall 'ignore) (fset 'let 'ignore) 1)",
        "(progn (fset '+ (lambda (&rest _) 43)) 1)",
        "(defun + (&rest _) 43)",
        "(progn (advice-add '+ :override (lambda (&rest _) 43)) 1)",
        "(progn (advice-add 'eval :override #'ignore) 1)",
        "(progn (fset 'string-trim 'ignore) (fset 'prin1-to-string (lambda (&rest _) \"43\")) 1)",
        "(progn (setq standard-output t print-length 0 debug-on-error t) 1)",
    ];
    for code in hostile {
        let (ended, _) = say(&workers, code).await;
        // The very next one: by the same worker where that is whole, else by a fresh one.
        assert_eq!(say(&workers, "(+ 40 2)").await.0, value("42"), "{code}: {ended:?}");
        assert_eq!(say(&workers, "(string-trim \" a \")").await.0, value("\"a\""), "{code}: {ended:?}");
    }
    for (code, ended) in [("(while t)", Evaluated::TimedOut), ("(kill-emacs)", Evaluated::Gone)] {
        assert_eq!(say(&workers, "(setq mine 1)").await.0, value("1"));
        assert_eq!(say(&workers, code).await.0, ended);
        assert_eq!(say(&workers, "(boundp 'mine)").await.0, value("nil"), "a fresh one knows nothing of the last one");
    }
    // What was changed is told, and what a worker may keep it keeps.
    let told = workers
        .evaluate(&owner("s"), Walls::All, "(defun string-trim (_) 1)", &Told::own(Privacy::Open))
        .await
        .expect("evaluated");
    assert_eq!((told.ended, told.kept), (value("string-trim"), false));
    let told = workers.evaluate(&owner("s"), Walls::All, "(defun mine (n) (* n n))", &Told::own(Privacy::Open)).await;
    assert!(told.expect("evaluated").kept);
    assert_eq!(say(&workers, "(mine 7)").await.0, value("49"));
}

#[tokio::test(flavor = "multi_thread")]
async fn lisp_that_was_let_through_still_reaches_nothing() {
    if !possible().await {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    std::fs::write(folder.path().join("secret"), "hunter2").expect("a file");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("it does not wait");
    let port = listener.local_addr().expect("an address").port();
    let at = folder.path().display();
    let attempts = [
        "(call-process \"/bin/sh\" nil t nil \"-c\" \"id\")".to_string(),
        "(make-process :name \"a\" :command '(\"/bin/true\"))".to_string(),
        format!("(make-network-process :name \"a\" :host \"127.0.0.1\" :service {port})"),
        format!("(insert-file-contents \"{at}/secret\")"),
        format!("(write-region \"x\" nil \"{at}/made\")"),
        format!("(delete-file \"{at}/secret\")"),
        format!("(delete-directory \"{at}\" t)"),
        "(write-region \"x\" nil \"/tmp/made\")".to_string(),
        "(write-region \"x\" nil \"~/made\")".to_string(),
        "(signal-process (string-to-number (system-name)) 9)".to_string(),
        "(directory-files \"/home\")".to_string(),
    ];
    for walls in [Walls::All, Walls::Fewer] {
        let workers = workers(WorkerLimits::USUAL);
        for code in &attempts {
            match workers.evaluate(&owner("s"), walls, code, &Told::own(Privacy::Open)).await {
                Ok(answer) => {
                    let harmless = code.contains("delete-") || code.contains("signal-process");
                    let refused = matches!(answer.ended, Evaluated::Error(_));
                    assert!(refused || harmless, "{walls:?} {code}: {answer:?}");
                }
                Err(SandboxError::Unconfined(why)) if walls == Walls::Fewer => {
                    skipped(format_args!("fewer walls cannot be had: {why}"));
                }
                Err(why) => panic!("{code}: {why}"),
            }
        }
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("secret")).expect("it is there"), "hunter2");
    assert!(!folder.path().join("made").exists() && !Path::new("/tmp/made").exists());
    assert!(listener.accept().is_err(), "nobody came");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_fewer_walls_what_others_write_ends_no_worker() {
    let workers = workers(WorkerLimits::USUAL);
    let say = async |code: &str| workers.evaluate(&owner("s"), Walls::Fewer, code, &Told::own(Privacy::Open)).await;
    match say("1").await {
        Err(SandboxError::Unconfined(why)) => return skipped(format_args!("fewer walls cannot be had: {why}")),
        answer => assert_eq!(answer.expect("it is evaluated").ended, value("1")),
    }
    // The same disk as the worker's scratch, of which it may have a megabyte.
    let other = tempfile::NamedTempFile::new_in("/tmp").expect("a file");
    std::fs::write(other.path(), vec![7; 16 << 20]).expect("it is written");
    // Work enough for the launcher to look several times.
    assert_eq!(say("(progn (dotimes (i 3000000) (* i i)) 2)").await.expect("it is evaluated").ended, value("2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_worker_outlives_its_call_its_idleness_or_its_engine() {
    if !possible().await {
        return;
    }
    let gone = |process: u32| !Path::new("/proc").join(process.to_string()).exists();
    let workers = workers(WorkerLimits { alive: 2, ..WorkerLimits::USUAL });
    for name in ["a", "b", "c"] {
        let _ =
            workers.evaluate(&owner(name), Walls::All, "1", &Told::own(Privacy::Open)).await.expect("it is evaluated");
        assert!(workers.processes().len() <= 2);
    }
    let alive = workers.processes();
    assert_eq!(alive.len(), 2);
    // Its owner is gone: that one alone ends, and the owner's next call begins anew.
    workers.end(&owner("c")).await;
    let left = workers.processes();
    assert!(left.len() == 1 && alive.iter().filter(|process| gone(**process)).count() == 1);
    workers.end(&owner("nobody")).await;
    let alive = left;
    workers.end_all().await;
    assert!(alive.iter().all(|process| gone(*process)) && workers.processes().is_empty());
    // What a key of the terminal interrupts is the group of this process, and no worker is in it.
    assert_eq!(say(&workers, "1").await.0, value("1"));
    let group = |process: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it is alive");
        let behind = stat.rsplit_once(") ").expect("a name in brackets").1.to_string();
        behind.split(' ').nth(2).expect("a group").to_string()
    };
    for process in workers.processes() {
        assert_ne!(group(&process.to_string()), group("self"));
    }
    workers.end_all().await;
    // A call that is cut short ends what it called.
    let call = say(&workers, "(while t)");
    assert!(tokio::time::timeout(Duration::from_millis(500), call).await.is_err());
    assert!(workers.processes().is_empty());
    let idle = Workers::new(launcher(), WorkerLimits { idle: Duration::from_millis(1), ..WorkerLimits::USUAL });
    let _ = say(&idle, "1").await;
    let until = Instant::now() + Duration::from_secs(10);
    while !idle.processes().is_empty() {
        assert!(Instant::now() < until, "an idle worker ends");
        tokio::task::yield_now().await;
    }
    assert_eq!(say(&idle, "2").await.0, value("2"), "the next call begins anew");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_emacs_of_the_system_nothing_is_evaluated() {
    let finder = Arc::new(|| Err("there is no Emacs in a folder of the system".to_string()));
    let workers = Workers::with(launcher(), WorkerLimits::USUAL, finder);
    let told =
        workers.evaluate(&owner("s"), Walls::All, "1", &Told::own(Privacy::Open)).await.expect_err("there is none");
    assert_eq!(told.to_string(), "there is no Emacs in a folder of the system");
}
