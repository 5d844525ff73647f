//! Secrets in text: by shape, by where they stand, and what only looks like one. No sample here was ever a key.

use super::World;
use passepartout::domain::action::Action;
use passepartout::domain::gate::clearance::ask_all;
use passepartout::domain::gate::secret::{self, Certainty};
use passepartout::domain::gate::title::title;
use passepartout::domain::gate::{Facts, show};
use passepartout::domain::label::Labels;
use passepartout::domain::tool::Toolbox;
use serde_json::json;
use std::time::{Duration, Instant};

const BASE62: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const HEX: &str = "0123456789abcdef";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Returns so many letters that look drawn by lot, and are the same at each run.
fn drawn(letters: &str, length: usize, seed: u64) -> String {
    let letters: Vec<char> = letters.chars().collect();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        letters[(state % letters.len() as u64) as usize]
    };
    (0..length).map(next).collect()
}

fn uuid(seed: u64) -> String {
    let hex = drawn(HEX, 32, seed);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[test]
fn tokens_are_found_by_their_shape_wherever_they_stand() {
    let shapes: &[(&str, &str, usize)] = &[
        ("AKIA", UPPER, 16),
        ("ASIA", UPPER, 16),
        ("LTAI5t", BASE62, 20),
        ("AIza", BASE62, 35),
        ("ya29.", BASE62, 60),
        ("GOCSPX-", BASE62, 28),
        ("ghp_", BASE62, 36),
        ("gho_", BASE62, 36),
        ("github_pat_", BASE62, 82),
        ("glpat-", BASE62, 20),
        ("glrt-", BASE62, 20),
        ("npm_", BASE62, 36),
        ("pypi-AgEIcHlwaS5vcmc", BASE62, 90),
        ("rubygems_", HEX, 48),
        ("dckr_pat_", BASE62, 27),
        ("AKCp8", BASE62, 68),
        ("xoxb-2345678901-", BASE62, 24),
        ("xapp-1-A012345678-", BASE62, 40),
        ("sk_live_", BASE62, 24),
        ("rk_live_", BASE62, 24),
        ("whsec_", BASE62, 32),
        ("sq0atp-", BASE62, 22),
        ("shpat_", HEX, 32),
        ("SK", HEX, 32),
        ("key-", HEX, 32),
        ("xkeysib-", HEX, 80),
        ("mlsn.", HEX, 64),
        ("NRAK-", UPPER, 27),
        ("glsa_", BASE62, 41),
        ("sntryu_", HEX, 64),
        ("phx_", BASE62, 43),
        ("sk-", BASE62, 48),
        ("gsk_", BASE62, 52),
        ("pplx-", BASE62, 48),
        ("r8_", BASE62, 37),
        ("nvapi-", BASE62, 64),
        ("tvly-", BASE62, 32),
        ("pcsk_", BASE62, 70),
        ("lin_api_", BASE62, 40),
        ("ntn_", BASE62, 44),
        ("figd_", BASE62, 40),
        ("CCIPAT_", BASE62, 50),
        ("bkua_", HEX, 40),
        ("sqp_", HEX, 40),
        ("dop_v1_", HEX, 64),
        ("hvs.", BASE62, 90),
        ("pul-", HEX, 40),
        ("dp.ct.", BASE62, 43),
        ("tskey-auth-", BASE62, 30),
        ("dapi", HEX, 32),
        ("lsv2_pt_", HEX, 43),
        ("AGE-SECRET-KEY-1", UPPER, 58),
    ];
    let lines = [
        "@",
        "export X=@",
        "{\"a\": \"@\"}",
        "a: '@'",
        "<v>@</v>",
        "see @.",
        "https://h/?a=@&b=1",
        "first\\n@\\nlast",
        "(@)",
        "`@`",
        "x%3D@",
    ];
    for (n, (prefix, letters, length)) in shapes.iter().enumerate() {
        for line in lines {
            let token = format!("{prefix}{}", drawn(letters, *length, n as u64 + 7));
            let text = line.replace('@', &token);
            let (masked, found) = secret::mask(&text);
            assert!(!found.is_empty(), "{text}");
            assert!(!masked.contains(&token), "{masked}");
        }
    }
}

#[test]
fn tokens_with_parts_are_found() {
    let part = |n: usize, seed: u64| drawn(BASE62, n, seed);
    for text in [
        format!("eyJ{}.eyJ{}.{}", part(30, 1), part(60, 2), part(43, 3)),
        format!("SG.{}.{}", part(22, 4), part(43, 5)),
        format!("pat{}.{}", part(14, 6), drawn(HEX, 64, 7)),
        format!("{}:AA{}", "7213808861", part(33, 8)),
        format!("M{}.{}.{}", part(23, 9), part(6, 10), part(27, 11)),
        format!("{}.atlasv1.{}", part(14, 12), part(67, 13)),
        format!("x{}8Q~{}", part(2, 14), part(34, 15)),
        format!("{}-us14", drawn(HEX, 32, 16)),
        format!("00D{}!{}", part(12, 17), part(96, 18)),
        format!("https://hooks.slack.com/services/T{}/B{}/{}", part(8, 19), part(8, 20), part(24, 21)),
        format!("re_{}_{}", part(8, 22), part(24, 23)),
        format!("pat-na1-{}", uuid(24)),
        format!("sk-ant-api03-{}AA", part(93, 25)),
        format!("sk-proj-{}T3BlbkFJ{}", part(40, 26), part(40, 27)),
        format!("{}AZDO{}", part(76, 28), part(4, 29)),
        format!("syt_{}_{}_{}", part(12, 30), part(20, 31), part(6, 32)),
        format!("$2b$12${}", part(53, 33)),
        format!("$6${}${}", part(16, 34), part(86, 35)),
        format!("DefaultEndpointsProtocol=https;AccountName=a;AccountKey={}==", part(86, 36)),
    ] {
        assert!(!secret::scan(&text).is_empty(), "{text}");
    }
}

#[test]
fn both_halves_of_a_pair_of_keys_are_masked() {
    let (open, hidden) = (format!("AKIA{}", drawn(UPPER, 16, 3)), format!("{}aB3/", drawn(BASE62, 36, 4)));
    let (masked, _) = secret::mask(&format!("the keys are {open} / {hidden}, use them"));
    assert!(!masked.contains(&hidden) && !masked.contains(&open), "{masked}");
}

#[test]
fn a_private_key_is_masked_to_its_end_and_without_one() {
    for kind in ["RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", ""] {
        let body = drawn(BASE62, 64, 5);
        let whole = format!("-----BEGIN {kind}PRIVATE KEY-----\n{body}\n{body}\n-----END {kind}PRIVATE KEY-----");
        for text in
            [whole.clone(), whole.replace('\n', "\\n"), whole.split("-----END").next().unwrap_or("").to_string()]
        {
            assert!(!secret::mask(&text).0.contains(&body), "{text}");
            assert_eq!(secret::scan(&text).first().map(|found| found.certainty), Some(Certainty::Certain));
        }
    }
    let public = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----", drawn(BASE62, 64, 6));
    assert!(secret::scan(&public).is_empty());
}

#[test]
fn a_value_behind_what_is_no_tag_of_a_heading_is_found() {
    let word = drawn(BASE62, 24, 5);
    for text in [
        format!("** Login\n:secret: {word}"),
        format!("** Login :secret: {word}"),
        format!("** Login :private: {{x}} password: {word}"),
    ] {
        assert!(!secret::scan(&text).is_empty(), "{text}");
    }
}

#[test]
fn values_under_telling_names_are_found_in_every_notation() {
    let value = drawn(BASE62, 24, 11);
    let password = "t7#Kq9!vLm2x";
    for form in [
        "API_KEY=@",
        "export API_KEY=\"@\"",
        "api_key = '@'",
        "\"apiKey\": \"@\",",
        "api-key: @",
        "'access_token' => '@',",
        "<apiKey>@</apiKey>",
        "<add key=\"ServiceToken\" value=\"@\"/>",
        "{\"name\": \"CLIENT_SECRET\", \"value\": \"@\"}",
        "- name: SESSION_SECRET\n  value: \"@\"",
        "$env:API_TOKEN = '@'",
        "const apiToken: string = \"@\";",
        "var secretKey = \"@\"",
        "client_secret := \"@\"",
        "let auth_token = \"@\";",
        "(setq my-api-key \"@\")",
        "os.environ['API_KEY'] = '@'",
        "os.Setenv(\"API_TOKEN\", \"@\")",
        "ENV API_TOKEN @",
        "mytool --api-key @",
        "mytool --token=@",
        "X-Api-Key: @",
        "Authorization: Bearer @",
        "curl -H 'Authorization: token @' https://example.org",
        "Cookie: sid=@; theme=dark",
        "https://example.org/x?access_token=@&y=1",
        "https://@@example.org/x.git",
        "//registry.example.org/:_authToken=@",
        "SECRET_KEY_BASE=@",
        "api_key_prod: @",
        "the api key @ is new",
    ] {
        let text = if form.contains("@@") { form.replacen('@', &value, 1) } else { form.replace('@', &value) };
        let (masked, found) = secret::mask(&text);
        assert!(!found.is_empty() && !masked.contains(&value), "{text}: {masked}");
    }
    for form in [
        "password=@",
        "PGPASSWORD='@'",
        "db.password = @",
        "password: \"@\"",
        "<password>@</password>",
        "-Password @",
        "sshpass -p @ ssh me@h",
        "machine h.example.org login me password @",
        "machine h.example.org\n  login me\n  password @",
        "CREATE USER me IDENTIFIED BY '@'",
        "password \"@\"",
        "new NetworkCredential(\"me\", \"@\")",
        "redis-cli -a @",
    ] {
        let text = form.replace('@', password);
        assert!(!secret::scan(&text).is_empty(), "{text}");
    }
    for address in
        ["postgres://me:t7Kq9vLm2x@h/db", "redis://:t7Kq9vLm2x@h:6379", "mongodb+srv://me:p@ss9word7@h.example.org/x"]
    {
        assert!(!secret::scan(address).is_empty(), "{address}");
    }
}

#[test]
fn what_only_looks_like_a_secret_passes() {
    let (hex40, hex64, word) = (drawn(HEX, 40, 1), drawn(HEX, 64, 2), drawn(BASE62, 40, 3));
    let id = uuid(4);
    for text in [
        format!("commit {hex40}"),
        format!("checksum = \"{hex64}\""),
        format!("\"integrity\": \"sha512-{word}{word}==\""),
        format!("sha256:{hex64}"),
        format!("{hex64}  dist.tar.gz"),
        format!(":ID: {id}"),
        format!("request_id={id}"),
        format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5{word} me@host"),
        format!("public_key = \"{word}\""),
        format!("data:image/png;base64,iVBORw0KGgo{word}{word}"),
        format!("password: ENC[AES256_GCM,data:{word},iv:{word},tag:{word},type:str]"),
        format!("db_password: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  {hex64}"),
        format!("secret: vault:v1:{word}"),
        format!("cache_key = \"{hex40}\""),
        "export TOKEN=<your token>".to_string(),
        "api_key: ${API_KEY}".to_string(),
        "password = os.environ[\"DB_PASSWORD\"]".to_string(),
        "password = getpass.getpass()".to_string(),
        "token = secrets.token_urlsafe(32)".to_string(),
        "let token = Parser::next_token(&mut self.lexer);".to_string(),
        "key: KERB_CRYPTO_KEY32,".to_string(),
        "target: aarch64-unknown-linux-gnu, key = \"aarch64-unknown-linux-gnu\"".to_string(),
        "DATABASE_URL=postgres://user:password@localhost:5432/db".to_string(),
        "https://$USER:$PASS@example.org".to_string(),
        "curl -u \"$USER:$PASSWORD\" https://example.org".to_string(),
        "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE".to_string(),
        "sk_live_xxxxxxxxxxxxxxxxxxxxxxxx".to_string(),
        "machine example.org login me password ********".to_string(),
        "password: correct horse".to_string(),
        "The password must have 12 characters.".to_string(),
        "tokens: 1234, keys: 5678".to_string(),
        // How a heading with tags is named to a model: what stands behind them is its id.
        "** Health :private: {/home/me/org/life.org::*Health}".to_string(),
        format!("* TODO Bank :work:secret: {{{id}}}"),
        "key=value".to_string(),
        "git push origin token-refresh-2024".to_string(),
        "\"version\": \"1.22.333-beta.44\"".to_string(),
        "(define-key map (kbd \"C-c C-k\") #'kill-buffer)".to_string(),
        "op://vault/item/password".to_string(),
        "secretKeyRef:\n  name: db-secret\n  key: password".to_string(),
        "[![cov](https://cov.example.org/x/badge.svg?token=X0LB1HB90L)]".to_string(),
    ] {
        let found = secret::scan(&text);
        assert!(found.is_empty(), "{text}: {found:?}");
    }
}

#[test]
fn a_scan_is_linear_whatever_the_text() {
    let start = Instant::now();
    for piece in [
        "key=",
        "token='",
        "password=\"'",
        "-----BEGIN PRIVATE KEY-----",
        "sk_live_",
        "eyJ",
        "AKIAQZ7XW2LMNB4KJH3T",
        "://a:b@",
        "@",
        ">",
        "<password>",
        "name value=",
        "-u ",
        "--token ",
        "secret secret ",
        ".",
        "+ASt",
        "ghp_sk-glpat-xoxb-npm_",
        "cookie: a=b; ",
        "\u{e9}=\u{e9}:",
        "password: ",
        "|password|\n",
        "password,x\n",
        "curl -u jo:x ",
        ":*:",
        "WIFI:P:",
        "\"SYMMETRIC\"",
        "chpasswd ",
        "abandon ability able about above absent ",
        "datadog-key-4f2a9c1b7e3d5a6b8c0d ",
        "x4f2a9c1b7e3d5a6b-",
    ] {
        let _ = secret::scan(&piece.repeat((1 << 17) / piece.len()));
    }
    // A square would take an hour; two megabytes take a second or two without optimisation.
    assert!(start.elapsed() < Duration::from_secs(120), "{:?}", start.elapsed());
}

#[test]
fn every_argument_is_searched_and_nothing_that_is_shown_repeats_a_secret() {
    let world = World::new();
    let (token, likely) = (format!("ghp_{}", drawn(BASE62, 36, 1)), drawn(BASE62, 24, 2));
    let why = "A test asks for it.";
    for (tool, args, said) in [
        ("message", json!({"text": format!("it is {token}")}), why.to_string()),
        ("message", json!({"text": "hello"}), format!("Because the key is {token}.")),
        ("shell", json!({"command": format!("mystery {token} > out.txt")}), why.to_string()),
        ("shell", json!({"command": format!("API_KEY={likely} make all")}), why.to_string()),
        ("write-file", json!({"path": "a.txt", "content": format!("api_key: {likely}\n")}), why.to_string()),
        ("write-file", json!({"path": format!("{token}.txt"), "content": "x"}), why.to_string()),
        ("read-file", json!({"path": format!("../{token}")}), why.to_string()),
        ("org-add-heading", json!({"title": "x", "file": "a.org", "tags": ["a", token]}), why.to_string()),
        ("org-add-heading", json!({"title": format!("use {token}"), "file": "a.org"}), why.to_string()),
        ("eval-lisp", json!({"code": format!("(setq x \"{token}\")")}), why.to_string()),
        ("memory-search", json!({"query": token}), why.to_string()),
    ] {
        let args = args.as_object().cloned().unwrap();
        let action = Action::new(&Toolbox::builtin(), tool, args, Some(&said), Labels::MODEL).unwrap();
        let facts = world.survey.look(&action, &world.scope);
        let trace = ask_all(&world.gates, &world.case(&action, &facts));
        let verdict = trace.strictest().unwrap().verdict.name();
        assert_ne!(verdict, "pass", "{tool}");
        let mut shown = vec![show::body(&action, &facts, "/work"), show::diff(&facts), title(&action, &facts)];
        shown.extend(trace.opinions.iter().filter_map(|opinion| Some(opinion.verdict.reason()?.text.clone())));
        for text in shown {
            assert!(!text.contains(&token) && !text.contains(&likely), "{tool}: {text}");
        }
    }
}

#[test]
fn nothing_that_could_act_hides_behind_a_mask() {
    for command in
        ["TOKEN='aB3dE6gH9$(rm -rf ~)jK2mN5' make", "PASSWORD=aB3;rm\t-rf\t~", "API_KEY=\"a1b2c3d4`id`e5f6g7\" ls"]
    {
        assert_eq!(secret::mask_shown(command), command);
    }
    let args = json!({"command": "echo hi"}).as_object().cloned().unwrap();
    let action = Action::new(&Toolbox::builtin(), "shell", args, Some("A test asks for it."), Labels::MODEL).unwrap();
    assert!(show::body(&action, &Facts::default(), "/work").contains("echo hi"));
}

#[test]
fn what_is_larger_than_four_megabytes_asks_unread() {
    let world = World::new();
    let small = format!("api_key: {}\n", drawn(BASE62, 24, 2));
    let large = small.clone() + &"x ".repeat(3 << 20);
    assert_eq!(world.verdict("message", json!({"text": small})), "ask");
    let begun = Instant::now();
    assert_eq!(world.verdict("message", json!({"text": large})), "ask");
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn what_was_drawn_by_lot_is_found_by_how_its_letters_are_mixed() {
    let world = World::new();
    let small: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
    let letters: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut missed = Vec::new();
    for seed in 1..=60 {
        let texts = [
            format!("DEVOPS_PAT={}", drawn(small, 52, seed)),
            format!("client_secret = {}", drawn(small, 30, seed)),
            format!("API_TOKEN={}", drawn(BASE62, 40, seed)),
            format!("db.password={}", drawn(letters, 20, seed)),
            format!("mysql -u root -p{} shop", drawn(BASE62, 16, seed)),
            format!("Shop.Client('{}')", drawn(BASE62, 40, seed)),
            format!("setAccessToken(\"{}\")", drawn(BASE62, 32, seed)),
            format!("psk=\"{}\"", drawn(BASE62, 20, seed)),
            format!(r#"{{"kty":"EC","crv":"P-256","d":"{}"}}"#, drawn(BASE62, 43, seed)),
            format!("live_{}", drawn(HEX, 35, seed)),
            format!("ddp_{}", drawn(BASE62, 36, seed)),
            format!("api_keys:\n  - {}\n", drawn(BASE62, 36, seed)),
            format!("get(url, auth=('shop', '{}'))", drawn(BASE62, 16, seed)),
            format!("the password is {}", drawn(BASE62, 14, seed)),
            format!("user a insecure-password {}", drawn(BASE62, 16, seed)),
            format!("ConvertTo-SecureString \"{}\" -AsPlainText", drawn(BASE62, 16, seed)),
            format!("contraseña: {}", drawn(BASE62, 16, seed)),
        ];
        missed.extend(texts.into_iter().filter(|text| world.verdict("message", json!({"text": text})) == "pass"));
    }
    // Chance makes a word now and then.
    assert!(missed.len() * 100 <= 60 * 17 * 2, "{missed:#?}");
}

#[test]
fn open_keys_names_and_sealed_values_pass() {
    let world = World::new();
    let sealed = format!("password: AgB{}", drawn(BASE62, 400, 3));
    let map = format!("accessToken = 'pk.eyJ1Ijoi{}.{}'", drawn(BASE62, 60, 4), drawn(BASE62, 22, 5));
    let errors = format!("init({{ dsn: 'https://{}@o12345.ingest.sentry.io/6' }})", drawn(HEX, 32, 6));
    for text in [
        sealed.as_str(),
        &map,
        &errors,
        "token = getUserIdByKey",
        "the password is required",
        "the password is case-sensitive",
        "signingkey = 3AA5C34371567BD2",
        "passwords:\n  - see the vault\n",
        "auth=('user', 'password')",
        "password = 'resetPasswordToken'",
        "setToken(\"refresh-token-name\")",
        "const secret = HTTPServerConfigFactory",
        "new Client('https://api.shop.example')",
        "format = 'compatibilityFormat2'",
        "{\"d\": \"M12.5 3.2L4.4 9.1z\"}",
    ] {
        assert_eq!(world.verdict("message", json!({"text": text})), "pass", "{text}");
    }
}

#[test]
fn passwords_in_prose_are_found_in_many_languages_and_tables() {
    for seed in 1..=8 {
        let value = format!("{}#{}!7", drawn(BASE62, 6, seed), drawn(BASE62, 5, seed + 90));
        for form in [
            "the wifi password for guests is now @.",
            "Das neue Passwort für den Drucker lautet @, danke.",
            "Le mot de passe de la boîte est : @ (à changer).",
            "La contraseña del router es @",
            "A senha do servidor é @",
            "Het wachtwoord is @",
            "Пароль от сервера: @",
            "服务器密码：@",
            "管理画面のパスワードは @ です",
            "PW는@",
            "hasło: @",
            "[09:12] <ana> pw of the nas: @",
            "user jo / PW: @",
            "#+begin_src sql :dbuser a :dbpassword @ :database b",
            "| host | user | password |\n|------+------+----------|\n| a.b  | jo   | @ |",
            "name,password,note\njo,@,old\n",
        ] {
            let text = form.replace('@', &value);
            let (masked, found) = secret::mask(&text);
            assert!(!found.is_empty() && !masked.contains(&value), "{text}: {masked}");
        }
    }
    for text in [
        "The password is stored in the key ring, not in this file.",
        "Das Passwort lautet wie immer.",
        "Le mot de passe est obligatoire : 12 caractères.",
        "la contraseña es obligatoria",
        "密码：请输入您的密码",
        "| name | password |\n|------+----------|\n| jo   | see vault |",
        "name,password\njo,hidden\n",
        "let credentials = Credentials::new(None, None);",
        "password: Option<String>,",
        "keyPassword = project.properties[\"RELEASE_KEY\"] as String",
        ".field--password:focus{color:#3f51b5;margin:0 0 2px}",
        "{label:\"Password:\",hint:\"Remember me:\"}",
        "https://a.example/reset-password?lang=de&step=2",
    ] {
        let found = secret::scan(text);
        assert!(found.is_empty(), "{text}: {found:?}");
    }
}

#[test]
fn passwords_in_command_lines_and_in_files_of_their_own_form_are_found() {
    for seed in 1..=8 {
        let value = format!("{}=k!{}", drawn(BASE62, 5, seed), drawn(BASE62, 7, seed + 40));
        for form in [
            "smbclient //nas/media -U 'jo%@'",
            "echo 'www:@' | chpasswd",
            "net use X: \\\\host\\share /user:corp\\jo @",
            "htpasswd -bB users jo @",
            "curl --user=jo:@ https://a.example/",
            "curl -ujo:@ https://a.example/",
            "lftp -u jo,@ ftp.a.example",
            "ipmitool -H h -U root -P @ power status",
            "ConvertTo-SecureString -AsPlainText -Force @",
            "sqlplus jo/@@//db.a.example:1521/X",
            "mc alias set store https://a.example user @",
            "db.a.example:5432:*:jo:@",
            "*:*:*:jo:@",
            "WIFI:T:WPA;S:home;P:@;;",
            "(setq smtpmail-auth-credentials '((\"mail.a.example\" 587 \"jo\" \"@\")))",
            "easy_setopt(handle, CURLOPT_PASSWORD, \"@\");",
            "PASSWORD = os.environ.get(\"PASSWORD\") or \"@\"",
            "DB_PASSWORD=${DB_PASSWORD:-@}",
        ] {
            let text = form.replacen('@', &value, 1);
            let (masked, found) = secret::mask(&text);
            assert!(!found.is_empty() && !masked.contains(&value), "{text}: {masked}");
        }
    }
    for text in [
        "curl -u jo: https://a.example/",
        "curl -u \"$USER:$PASS\" https://a.example/",
        "net use X: \\\\host\\share /user:jo *",
        "htpasswd -c users jo",
        "ConvertTo-SecureString $plain -AsPlainText -Force",
        "db.a.example:5432:shop:jo:*",
        "pattern: -----BEGIN (RSA|EC) PRIVATE KEY-----",
        "echo 'export PASSWORD=\"'$PASSWORD'\"' >> .env",
    ] {
        let found = secret::scan(text);
        assert!(found.is_empty(), "{text}: {found:?}");
    }
}

#[test]
fn tokens_beside_the_name_of_a_service_are_found_and_digests_are_not() {
    let small = "abcdefghijklmnopqrstuvwxyz0123456789";
    let mut missed = Vec::new();
    for seed in 1..=30 {
        let (hex, mixed, id) = (drawn(HEX, 32, seed), drawn(small, 32, seed), uuid(seed));
        missed.extend(
            [
                format!("openweathermap={hex}"),
                format!("the mailerlite key {mixed}"),
                format!("mapquest_consumer {mixed}"),
                format!("coinlayerSecretKey-{mixed}"),
                format!("get(\"https://api.openweathermap.org/data?q=Rome&appid={hex}\")"),
                format!("postmark server token {id}"),
                format!("pipedrive: '{mixed}'"),
                format!("secret_id: {id}"),
                format!("api_token: \"Bearer {mixed}\""),
            ]
            .into_iter()
            .filter(|text| secret::scan(text).is_empty()),
        );
    }
    assert!(missed.len() * 100 <= 30 * 9 * 2, "{missed:#?}");
    for seed in 1..=30 {
        let (hex, id) = (drawn(HEX, 40, seed), uuid(seed));
        for text in [
            format!("datadog: pinned to commit {hex}"),
            format!("uses: circleci/checkout@{hex}"),
            format!("sentry trace id {id}"),
            format!("https://github.com/mapbox/mapbox-gl/commit/{hex}"),
            format!("heroku release {hex}"),
            format!("stripe customer id: {id}"),
            format!("docker.io/grafana/grafana@sha256:{}", drawn(HEX, 64, seed)),
        ] {
            let found = secret::scan(&text);
            assert!(found.is_empty(), "{text}: {found:?}");
        }
    }
}

#[test]
fn a_service_whose_name_is_a_word_tells_only_beside_a_key() {
    let small = "abcdefghijklmnopqrstuvwxyz0123456789";
    for seed in 1..=10 {
        let value = drawn(small, 32, seed);
        for name in ["railway", "notion", "phrase", "plaid", "polygon", "sentry"] {
            for told in [format!("{name} token: {value}"), format!("{}_KEY={value}", name.to_uppercase())] {
                assert!(!secret::scan(&told).is_empty(), "{told}");
            }
            for plain in [format!("the {name} {value}"), format!("{name}: '{value}'"), format!("{name}-{value}")] {
                let found = secret::scan(&plain);
                assert!(found.is_empty(), "{plain}: {found:?}");
            }
        }
        // A name that is no word tells alone.
        let own = format!("pipedrive: '{value}'");
        assert!(!secret::scan(&own).is_empty(), "{own}");
    }
}

#[test]
fn words_for_passwords_are_whole_words_in_their_forms() {
    for seed in 1..=4 {
        let value = format!("{}#{}!7", drawn(BASE62, 6, seed), drawn(BASE62, 5, seed + 90));
        for form in [
            "La clave es @",
            "Las claves: @",
            "SENHA: @",
            "Parola: @",
            "Parolanız: @",
            "Şifreniz: @",
            "Heslem je @",
            "Hasłem jest @",
            "Salasanasi on @",
            "Lösenordet är @",
            "Jelszava: @",
            "Доступ с паролем @",
            "Паролата: @",
            "Ο κωδικός: @",
            "كلمة السر: @",
            "وكلمة المرور: @",
            "السر: @",
            "הסיסמה: @",
            "암호는@",
            "암호: @",
            "Benutzerkennwort: @",
            "dbPassword is @",
            "(pw: @)",
        ] {
            let text = form.replace('@', &value);
            assert!(!secret::scan(&text).is_empty(), "{text}");
        }
        for form in [
            "Die Lenha ist @",
            "a lenha é @",
            "l'enclave est @",
            "conclave: see @",
            "le chiffre est @",
            "parolata è @",
            "autoparola est @",
            "암호화 @",
            "مسرحية: @",
            "паролька это @",
        ] {
            let text = form.replace('@', &value);
            let found = secret::scan(&text);
            assert!(found.iter().all(|finding| finding.kind != "password"), "{text}: {found:?}");
        }
    }
}

#[test]
fn tokens_of_smaller_services_are_found_by_their_shape() {
    for (prefix, letters, length) in [
        ("HRKU-", "", 0),
        ("SU", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 56),
        ("shpss_", BASE62, 32),
        ("phs_", BASE62, 50),
        ("sb_secret_", BASE62, 31),
        ("cr-", HEX, 58),
        ("s-s4t2ud-", HEX, 64),
        ("packagist_acs_", HEX, 64),
        ("vca_", BASE62, 60),
        ("pat_", BASE62, 64),
        ("key_", HEX, 28),
        ("tss_", BASE62, 36),
        ("rootly_", HEX, 64),
        ("fio-u-", BASE62, 64),
        ("SWMTKN-1-", "", 1),
        ("xprv", BASE62, 107),
    ] {
        for seed in 1..=6 {
            let body = match length {
                0 => uuid(seed),
                1 => format!("{}-{}", drawn(HEX, 50, seed), drawn(HEX, 25, seed)),
                _ => drawn(letters, length, seed),
            };
            let text = format!("see {prefix}{body} there");
            assert!(!secret::mask(&text).0.contains(&body), "{text}");
        }
    }
}

#[test]
fn seed_phrases_are_found_by_their_checksum() {
    // Published examples of BIP 39, not wallets.
    let twelve = "legal winner thank year wave sausage worth useful legal winner thank yellow";
    let eighteen = "gravity machine north sort system female filter attitude volume fold club stay feature office ecology stable narrow fog";
    for phrase in [twelve, eighteen] {
        for text in [
            phrase.to_string(),
            format!("MNEMONIC=\"{phrase}\"\n"),
            format!("my seed phrase:\n{}", phrase.replace(' ', "\n")),
            phrase.split(' ').zip(1..).map(|(word, n)| format!("{n}. {word}")).collect::<Vec<_>>().join(" "),
            phrase.split(' ').zip(1..).map(|(word, n)| format!("{n}: {word}\n")).collect::<String>(),
            format!("wallet seed: {:?}", phrase.split(' ').collect::<Vec<_>>()),
            phrase.split(' ').map(|word| format!("- {word}\n")).collect::<String>(),
            phrase.replace(' ', "-"),
            format!("save this\n{phrase}"),
            format!("{phrase}\nabout"),
            format!("{phrase}\n{phrase}\n"),
        ] {
            let (masked, found) = secret::mask(&text);
            assert!(found.iter().any(|one| one.kind == "seed phrase") && !masked.contains("winner thank"), "{text}");
        }
        for text in [phrase.to_uppercase(), format!("{}{}", phrase[..1].to_uppercase(), &phrase[1..])] {
            assert!(secret::scan(&text).iter().any(|one| one.kind == "seed phrase"), "{text}");
        }
    }
    // A piece of the list itself is none.
    let list = "abandon ability able about above absent absorb abstract absurd abuse access accident account accuse achieve \
                acid acoustic acquire across act action actor actress actual adapt add addict address adjust admit";
    for text in [
        list.to_string(),
        twelve.replace("yellow", "zoo"),
        "open the door and walk over the old bridge again today with me".to_string(),
    ] {
        assert!(secret::scan(&text).is_empty(), "{text}");
    }
}

/// Signs at an end and at a beginning belong to passwords. What a long line without an end takes is in the bench.
#[test]
fn passwords_with_signs_around_them_are_found() {
    let world = World::new();
    for text in
        ["password: \"butterfly!!\"", "DB_PASSWORD=sunshine##", "curl -u admin:-Xk93kdPq2w https://db.example.org"]
    {
        assert_ne!(world.verdict("message", json!({"text": text})), "pass", "{text}");
    }
    // A list of plain words that has the checksum by chance is no phrase when it is longer than one.
    let words = "kitchens numbers services doctors gardens projects tables letters chapters systems mountain articles garden \
                 lessons winters markets bottles window rivers answers summers networks products";
    assert_eq!(world.verdict("message", json!({"text": words})), "pass");
}

#[test]
fn no_text_makes_more_work_than_its_length_allows() {
    let units = [
        "eyJ.",
        "eyJhbGciOiJ.",
        "eyJ......",
        "sk-",
        "hf_",
        "live_",
        "key-",
        "SharedAccessSignature=",
        "AAAAAAAAAA",
        "AGE-SECRET-KEY-1",
        "legal winner thank year wave sausage worth useful legal winner thank yellow ",
        "seed phrase wallet abandon ability able about above absent absorb abstract ",
        "-----BEGIN PRIVATE KEY-----\n",
        "password: ",
        "password: a1b2c3!x ",
        "password is it ",
        "\u{5bc6}\u{7801}\u{ff1a}",
        "user,password,host\n",
        "user,password,host-name-01\n",
        "|password|x1!y2z3|\n",
        "password,",
        "password;password,password\n",
        "pw ",
    ];
    for unit in units {
        let effort = |length: usize| secret::effort(&unit.repeat(length / unit.len() + 1));
        let (short, long) = (effort(16 * 1024), effort(128 * 1024));
        assert!(short <= 16 * 1024 * 192, "{unit:?}: {short}");
        assert!(long <= short * 9 + 64 * 1024, "{unit:?}: {short}, and {long} for eight times as much");
    }
    // Dots at the end, which every beginning could count anew.
    let dots = |n: usize| secret::effort(&format!("{}{}", "eyJ".repeat(n), ".".repeat(n)));
    assert!(dots(32_000) <= dots(4_000) * 9 + 64 * 1024, "{} {}", dots(4_000), dots(32_000));
}

#[test]
fn a_token_is_found_behind_many_that_are_none() {
    let token = format!("ghp_{}", drawn(BASE62, 36, 3));
    for before in ["eyJ.".repeat(2_000), "sk-".repeat(2_000), "user,password,host\n".repeat(200)] {
        let text = format!("{before}{token}");
        assert!(secret::scan(&text).iter().any(|found| found.kind == "GitHub token"), "{}", &before[..8]);
    }
    let rows = "user,password,host\n".repeat(60);
    let found = secret::scan(&format!("{rows}jo,c0rrect!Horse7,here\n"));
    assert!(found.iter().any(|finding| finding.kind == "password"), "{found:?}");
}
