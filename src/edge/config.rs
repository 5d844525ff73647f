//! Settings: read once, checked, and passed down by value.
//!
//! What wins, first to last: options of the command line or of Emacs, the environment, the `.env` file, the default.
//! `docs/manual.org` has the table of every name.

use crate::domain::inert::exact;
use crate::domain::label::PrivacyTag;
use crate::domain::money::Micros;
use crate::domain::money::caps::Caps;
use crate::domain::org::property::Inheritance;
use crate::domain::preset::{Preset, Said};
use crate::domain::query::error::nearest;
use crate::domain::route::Slot;
use crate::domain::scope::Level;
use crate::domain::sexp::reader::Sexp;
use crate::domain::tool::server::MOST_SERVERS;
use crate::domain::turn::consensus::MOST;
use crate::edge::embed::{Backend, EmbeddingSetting};
use crate::edge::mcp::setting::{self, Around, ServerSetting};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// Where programs connect when the user wants it and names no address; the port is the ancestor's.
pub const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9105);

/// A provider as the user set it up; the key stands in the vault, under the same name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderSetting {
    /// Its name in the cascade.
    pub name: String,
    /// The word for its protocol, such as `openai`; its name when nothing is said.
    pub kind: String,
    /// Where it is; the kind's own address without.
    pub url: Option<String>,
    /// The model; the kind's default without.
    pub model: Option<String>,
    /// Whether the user declares it to be on this machine.
    pub local: bool,
    /// How hard it thinks; as it has it without.
    pub effort: Option<String>,
}

/// The providers and their order: what Emacs may change while a core runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderSettings {
    /// Names of providers, in order; `None` means: those that are set up, then `recall`.
    pub cascade: Option<Vec<String>>,
    /// Providers as the user set them up.
    pub declared: Vec<ProviderSetting>,
    /// The cascades of slots that have their own.
    pub slots: BTreeMap<Slot, Vec<String>>,
    /// The names in the order that the user chose at run time, for every slot; it comes before all others.
    pub chosen: Option<Vec<String>>,
    /// The models that the user chose with that order, by provider; they come before what is declared.
    pub models: BTreeMap<String, String>,
    /// Whether a function of the user's own in Emacs chooses among those who may be asked.
    pub selector: bool,
    /// The presets that were defined in Emacs, by name, or what is wrong with them.
    pub presets: Vec<(String, Result<Preset, String>)>,
    /// Models that take pictures, as the user says, whoever serves them.
    pub picture_models: Vec<String>,
}

impl ProviderSettings {
    /// Returns the names of the cascade, if anybody said any.
    pub fn names(&self) -> Option<&[String]> {
        self.chosen.as_deref().or(self.cascade.as_deref())
    }

    /// Returns the cascades of slots that have their own now.
    pub fn slots(&self) -> &BTreeMap<Slot, Vec<String>> {
        static NONE: BTreeMap<Slot, Vec<String>> = BTreeMap::new();
        if self.chosen.is_some() { &NONE } else { &self.slots }
    }

    /// Takes what a message of Emacs says of them; what it does not name stays. Returns what was said of slots that there
    /// are none of.
    pub fn take(&mut self, settings: &Sexp) -> Vec<String> {
        let cascade: Vec<String> =
            settings.list_at("cascade").iter().filter_map(Sexp::as_name).map(str::to_string).collect();
        if !cascade.is_empty() {
            self.cascade = Some(cascade);
        }
        for setting in settings.list_at("providers").iter().filter_map(ProviderSetting::read) {
            self.declared.retain(|known| known.name != setting.name);
            self.declared.push(setting);
        }
        let (mut slots, mut unknown) = (BTreeMap::new(), Vec::new());
        for entry in settings.list_at("cascades") {
            let words: Vec<&str> = entry.items().iter().filter_map(Sexp::as_name).collect();
            match words.split_first().map(|(word, names)| (Slot::parse(word), word, names)) {
                Some((Some(slot), _, names)) => {
                    slots.insert(slot, names.iter().map(|name| name.to_string()).collect());
                }
                Some((None, word, _)) => unknown.push(format!(
                    "The cascade of “{}” is ignored: write code, plan, chat or background.",
                    crate::domain::inert::exact(word)
                )),
                None => {}
            }
        }
        if !slots.is_empty() {
            self.slots = slots;
        }
        let models = settings.list_at("picture-models").iter().filter_map(Sexp::as_text);
        let models: Vec<String> = models.map(str::to_string).collect();
        if !models.is_empty() {
            self.picture_models = models;
        }
        if settings.get("selector").is_some() {
            self.selector = settings.flag_at("selector");
        }
        if settings.get("presets").is_some() {
            self.presets = settings.list_at("presets").iter().filter_map(read_preset).collect();
        }
        unknown
    }
}

impl ProviderSetting {
    /// Reads `(NAME :kind KIND …)`.
    fn read(entry: &Sexp) -> Option<ProviderSetting> {
        let (name, rest) = entry.items().split_first()?;
        let (name, rest) = (name.as_name()?, Sexp::list(rest.iter().cloned()));
        Some(ProviderSetting {
            name: name.to_string(),
            kind: rest.name_at("kind").unwrap_or(name).to_string(),
            url: rest.text_at("url").map(str::to_string),
            model: rest.text_at("model").map(str::to_string),
            local: rest.flag_at("local"),
            effort: rest.name_at("effort").map(str::to_string),
        })
    }
}

/// Reads `(NAME :model TEXT …)`, each value in the words of the file of presets.
fn read_preset(entry: &Sexp) -> Option<(String, Result<Preset, String>)> {
    let (name, rest) = entry.items().split_first()?;
    let (name, rest) = (name.as_name()?, Sexp::list(rest.iter().cloned()));
    let said = Said {
        model: rest.text_at("model"),
        tools: rest.text_at("tools"),
        tokens: rest.text_at("tokens"),
        dollars: rest.text_at("usd"),
        prompt: rest.text_at("prompt"),
    };
    Some((name.to_string(), Preset::read(name, &said)))
}

/// How Org files are read: what Emacs may change while a core runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrgSettings {
    /// Keyword sequences, as `#+TODO:` would spell them.
    pub todo_sequences: Vec<String>,
    /// Which properties hold below the heading that has them.
    pub property_inheritance: Inheritance,
}

impl Default for OrgSettings {
    fn default() -> Self {
        let (todo_sequences, property_inheritance) = (vec!["TODO | DONE".to_string()], Inheritance::default());
        OrgSettings { todo_sequences, property_inheritance }
    }
}

impl OrgSettings {
    /// Takes what a message of Emacs says of them; see `docs/PROTOCOL.org`. What cannot be read is a notice.
    pub fn take(&mut self, settings: &Sexp, notices: &mut Vec<String>) {
        let sequence = |given: &Sexp| {
            let mut words: Vec<&str> = given.items().iter().filter_map(Sexp::as_name).collect();
            // Without a bar the last word is the one that means done: said in one way, two are the same.
            if let Some(last) = words.len().checked_sub(1).filter(|_| !words.contains(&"|")) {
                words.insert(last, "|");
            }
            (!words.is_empty()).then(|| words.join(" "))
        };
        let given: Vec<String> = settings.list_at("todo-keywords").iter().filter_map(sequence).collect();
        if !given.is_empty() {
            self.todo_sequences = given;
        }
        if let Some(value) = settings.get("property-inheritance") {
            self.property_inheritance = inheritance(value, notices);
        }
    }
}

/// Reads `t`, a pattern, or a list of keys.
fn inheritance(value: &Sexp, notices: &mut Vec<String>) -> Inheritance {
    match value.as_text() {
        Some(pattern) => Inheritance::matching(pattern).unwrap_or_else(|why| {
            notices.push(format!(
                "The value of org-use-property-inheritance is not understood, and no property is inherited: {why}."
            ));
            Inheritance::Never
        }),
        None if value.as_name() == Some("t") => Inheritance::Always,
        None => Inheritance::Named(value.items().iter().filter_map(Sexp::as_text).map(str::to_string).collect()),
    }
}

/// Every setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The memex: folders and files that memory is read from.
    pub directories: Vec<PathBuf>,
    /// The store's folder.
    pub store: PathBuf,
    /// Our settings' folder.
    pub settings: PathBuf,
    /// Our cache folder.
    pub cache: PathBuf,
    /// The project root, if one was given.
    pub project: Option<PathBuf>,
    /// The user's home.
    pub home: PathBuf,
    /// Names of providers, in order; `None` means: those that are set up, then `recall`.
    pub cascade: Option<Vec<String>>,
    /// The cascades of slots that have their own.
    pub slots: BTreeMap<Slot, Vec<String>>,
    /// Providers as the user set them up.
    pub providers: Vec<ProviderSetting>,
    /// Whether a function of the user's own in Emacs chooses among those who may be asked.
    pub selector: bool,
    /// The presets that were defined in Emacs, by name, or what is wrong with them.
    pub presets: Vec<(String, Result<Preset, String>)>,
    /// Models that take pictures, as the user says.
    pub picture_models: Vec<String>,
    /// What makes vectors of meaning.
    pub embedding: EmbeddingSetting,
    /// From which cosine on a node counts as near, from 0 to 1.
    pub semantic_threshold: f32,
    /// Levels by tool.
    pub permissions: BTreeMap<String, Level>,
    /// Tags that make a node private, each with how private.
    pub private_tags: Vec<PrivacyTag>,
    /// Folders whose files came from elsewhere.
    pub untrusted_folders: Vec<PathBuf>,
    /// Remotes of git repositories that are the user's own, or beginnings of them.
    pub trusted_remotes: Vec<String>,
    /// Hosts whose pages may be fetched without a question: `example.org` that one, `.example.org` all below it.
    pub allowed_hosts: Vec<String>,
    /// How Org files are read; a core that runs may have been told of newer ones.
    pub org: OrgSettings,
    /// The agent's name.
    pub assistant: String,
    /// Tokens of memory in a prompt.
    pub memory_tokens: usize,
    /// Tokens of a prompt in all.
    pub context_tokens: usize,
    /// Lines of the log in a prompt.
    pub log_lines: usize,
    /// How near a deadline is shown first, in minutes.
    pub deadline_minutes: u32,
    /// How much may be spent on models.
    pub caps: Caps,
    /// How long a connection to a provider may take to stand, in seconds.
    pub connect_timeout: u64,
    /// How long a provider may take to begin its answer, in seconds.
    pub request_timeout: u64,
    /// How long a provider may be silent within its answer, in seconds.
    pub stall_timeout: u64,
    /// How long a provider may take for a whole answer, in seconds.
    pub answer_timeout: u64,
    /// How long an embedding server may take for a whole batch, in seconds.
    pub embedding_timeout: u64,
    /// How often a provider is asked for one answer while it is overloaded.
    pub request_tries: u32,
    /// The longest wait before it is asked again, in seconds.
    pub retry_wait: u64,
    /// How many models are asked at once, by kind of work; what is not in it asks one.
    pub consensus: BTreeMap<Slot, usize>,
    /// How long several models at once are waited for, in seconds.
    pub consensus_timeout: u64,
    /// The longest that one run of a job, or one task that was handed over, may take, in seconds.
    pub background_timeout: u64,
    /// After how long what could not be saved is tried again, in seconds; 0 waits for the next change.
    pub auto_save: u64,
    /// So many seconds lie between two looks at what is due, at least 1.
    pub heartbeat: u64,
    /// Where Telegram's Bot API is.
    pub telegram_url: String,
    /// Where the daemon of signal-cli listens, as far as that is known.
    pub signal_address: Option<String>,
    /// Which account of signal-cli is ours; empty where it has but one.
    pub signal_account: String,
    /// Whether what waits is saved when the program ends.
    pub save_on_exit: bool,
    /// How many days of old contents `memory compact` keeps when nothing else is said; 0 keeps all.
    pub history_days: u32,
    /// Whether the agent may propose changes of its own program.
    pub self_build: bool,
    /// Most bytes of a project that are copied before a command, so that what it changes can be undone.
    pub undo_bytes: u64,
    /// After how many approvals of one shape a rule is offered; 0 offers none.
    pub rule_threshold: u64,
    /// Most files of a project that are copied so.
    pub undo_files: usize,
    /// How long a plan can be approved, in hours.
    pub plan_hours: u32,
    /// Where programs may connect by the network; nowhere without.
    pub listen: Option<SocketAddr>,
    /// Whether a command that waits is tried out first, with nothing of it kept.
    pub dry_run: bool,
    /// Whether somebody is there, beside those who ask from an Emacs, who can be asked before a provider that is not local
    /// is contacted for the first time.
    pub attended: bool,
    /// Folders of skills that come from elsewhere: what is in them waits for the user.
    pub skill_directories: Vec<PathBuf>,
    /// The MCP servers whose tools are lent.
    pub mcp_servers: Vec<ServerSetting>,
    /// The launcher, when it lies somewhere else than beside this program.
    pub launcher: Option<PathBuf>,
    /// The shipped skills.
    pub shipped_skills: Option<PathBuf>,
    /// What was odd: settings that are ignored, and why.
    pub notices: Vec<String>,
}

/// Names that are read; see the manual's table.
pub const READ: &[&str] = &[
    "MEMEX_DIR",
    "MEMEX_ASSISTANT",
    "PROVIDER_CASCADE",
    "PROVIDER_CASCADE_CODE",
    "PROVIDER_CASCADE_PLAN",
    "PROVIDER_CASCADE_CHAT",
    "PROVIDER_CASCADE_BACKGROUND",
    "PICTURE_MODELS",
    "OLLAMA_HOST",
    "LLAMA_HOST",
    "LOCAL_BASE_URL",
    "EMBEDDING_PROVIDER",
    "EMBEDDING_MODEL",
    "EMBEDDING_URL",
    "EMBEDDING_API_KEY",
    "CONTEXT_SEMANTIC_THRESHOLD",
    "PRIVACY_FILTER_TAGS",
    "UNTRUSTED_DIRS",
    "SKILLS_DIRS",
    "TRUSTED_REMOTES",
    "ALLOWED_HOSTS",
    "CONTEXT_MAX_TOKENS",
    "CONTEXT_LOG_LIMIT",
    "DEADLINE_WARNING_MINUTES",
    "SESSION_BUDGET_USD",
    "DAY_BUDGET_USD",
    "BACKGROUND_BUDGET_USD",
    "UNPRICED_CALLS",
    "CONNECT_TIMEOUT",
    "REQUEST_TIMEOUT",
    "STALL_TIMEOUT",
    "ANSWER_TIMEOUT",
    "EMBEDDING_TIMEOUT",
    "REQUEST_TRIES",
    "RETRY_WAIT",
    "CONSENSUS",
    "CONSENSUS_TIMEOUT",
    "BACKGROUND_TIMEOUT",
    "HEARTBEAT_INTERVAL",
    "TELEGRAM_BOT_TOKEN",
    "TELEGRAM_URL",
    "SIGNAL_CLI_ADDRESS",
    "SIGNAL_ACCOUNT_NUMBER",
    "MEMORY_AUTO_SAVE_INTERVAL",
    "MEMORY_SAVE_ON_EXIT",
    "MEMORY_HISTORY_RETENTION",
    "SELF_BUILD_MODE",
    "UNDO_MAX_MB",
    "DISPATCHER_RULE_THRESHOLD",
    "UNDO_MAX_FILES",
    "PLAN_HOURS",
    "PASSEPARTOUT_LISTEN",
    "MCP_SERVERS",
    "DRY_RUN",
    "OPENROUTER_API_KEY",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GROQ_API_KEY",
    "GEMINI_API_KEY",
    "DEEPSEEK_API_KEY",
    "NVIDIA_API_KEY",
    "MISTRAL_API_KEY",
    "XAI_API_KEY",
];

/// Where Telegram's Bot API is.
const TELEGRAM: &str = "https://api.telegram.org";

/// Returns the socket that signal-cli listens at when it is told nothing else.
fn signal_socket(variables: &BTreeMap<String, String>) -> Option<String> {
    let folder = variables.get("XDG_RUNTIME_DIR").filter(|folder| folder.starts_with('/'))?;
    Some(format!("{}/signal-cli/socket", folder.trim_end_matches('/')))
}

/// Names of the ancestor that are not used here, with the reason; they are ignored with a notice.
pub const IGNORED: &[(&str, &str)] = &[
    ("MEMEX_USER", "the user is whoever runs Emacs"),
    ("ZETTELKASTEN_DIR", "set MEMEX_DIR"),
    ("INBOX_DIR", "set MEMEX_DIR"),
    ("DAILY_DIR", "set MEMEX_DIR"),
    ("PROJECTS_DIR", "set MEMEX_DIR"),
    ("AREAS_DIR", "set MEMEX_DIR"),
    ("RESOURCES_DIR", "set MEMEX_DIR"),
    ("ARCHIVES_DIR", "set MEMEX_DIR"),
    ("SYSTEM_DIR", "set MEMEX_DIR"),
    ("SLACK_TOKEN", "there is no Slack gateway"),
    ("DISCORD_TOKEN", "there is no Discord gateway"),
    ("ORG_AGENT_DAEMON_PORT", "set PASSEPARTOUT_LISTEN"),
    ("DAEMON_HOST", "set PASSEPARTOUT_LISTEN"),
    ("DAEMON_SLEEP_INTERVAL", "the daemon sleeps until something happens"),
    ("DEFAULT_ACTUATOR", "a reply goes where the question came from"),
    ("SILENT_ACTUATORS", "every act is reported"),
    ("SAFETY_BLOCK_SHELL", "commands are always judged"),
    ("PROTOCOL_ENFORCE_HMAC", "whoever connects by the network proves itself, always"),
    ("PROTOCOL_HMAC_SECRET", "the cookie in the folder of the store is made by the program"),
    ("TAG_CATEGORIES", "set PRIVACY_FILTER_TAGS"),
    ("MANDATORY_SKILLS", "policy and dispatcher cannot be left out"),
    ("RULES_FILE", "rules stand in rules.org of the settings folder"),
    ("TIME_AWARENESS", "the time is always told"),
    ("TIME_FORMAT", "the time is told as ISO"),
    ("MEMORY_SNAPSHOT_PATH", "see --store"),
    ("HTTP_PROXY", "the system's proxy settings are used"),
];

/// Of so many names that are none of a setting it is said.
const UNKNOWN: usize = 10;

/// Folders and options that come from outside: the environment, or a test.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Variables of the environment.
    pub variables: BTreeMap<String, String>,
}

impl Surroundings {
    /// Reads the process's environment; names and values that are not UTF-8 are left out.
    pub fn of_process() -> Surroundings {
        let variables = std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
        Surroundings { variables: variables.collect() }
    }

    /// Reads the environment that a client sent with its settings, else the process's.
    /// Emacs keeps one of its own: what `setenv` changed there never reaches the process.
    pub fn of_settings(settings: &Sexp) -> Surroundings {
        if settings.get("environment").is_none() {
            return Surroundings::of_process();
        }
        let entry = |entry: &Sexp| match entry {
            Sexp::Dotted(items, value) => Some((items.first()?.as_text()?.to_string(), value.as_text()?.to_string())),
            _ => None,
        };
        Surroundings { variables: settings.list_at("environment").iter().filter_map(entry).collect() }
    }

    fn folder(&self, name: &str, home: &Path, fallback: &str) -> PathBuf {
        let set = self.variables.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        set.unwrap_or_else(|| home.join(fallback)).join("passepartout")
    }
}

impl Config {
    /// Takes where programs may connect: an address with a port, `t` for the usual one, or `nil`, `no` or nothing for
    /// nowhere.
    fn take_listen(&mut self, word: &str) {
        self.listen = match word.trim() {
            "" | "nil" | "no" => None,
            "t" | "yes" => Some(LISTEN),
            address => match address.parse() {
                Ok(address) => Some(address),
                Err(_) => {
                    let word = crate::domain::inert::exact(word);
                    self.notices.push(format!(
                        "Nothing is listened for: “{word}” is no address with a port, such as 127.0.0.1:9105."
                    ));
                    None
                }
            },
        };
    }

    /// Returns the folder in which the heads of stores are noted, outside them.
    pub fn heads(&self) -> PathBuf {
        self.settings.join("heads")
    }

    /// Returns which places are from outside.
    pub fn places(&self) -> crate::edge::origin::Places {
        let canonical = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        crate::edge::origin::Places {
            untrusted: self.untrusted_folders.iter().map(canonical).collect(),
            remotes: self.trusted_remotes.clone(),
            memex: self.directories.iter().map(canonical).collect(),
            home: canonical(&self.home),
        }
    }

    /// Reads the environment and the `.env` file of the settings folder.
    pub fn read(surroundings: &Surroundings) -> Config {
        let home = surroundings.variables.get("HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let home = home.unwrap_or_else(|| PathBuf::from("/nonexistent"));
        let settings = surroundings.folder("XDG_CONFIG_HOME", &home, ".config");
        let mut notices = Vec::new();
        let mut variables: BTreeMap<String, String> = match crate::edge::secret::read_env_file(&settings.join(".env")) {
            Ok(variables) => variables.into_iter().collect(),
            Err(why) => {
                notices.push(why.to_string());
                BTreeMap::new()
            }
        };
        let in_file: BTreeSet<String> = variables.keys().cloned().collect();
        for (name, reason) in IGNORED {
            if variables.contains_key(*name) || (*name != "HTTP_PROXY" && surroundings.variables.contains_key(*name)) {
                notices.push(format!("{name} is ignored: {reason}."));
            }
        }
        for name in READ {
            if let Some(value) = surroundings.variables.get(*name) {
                variables.insert(name.to_string(), value.clone());
            }
        }
        let mut config = Config {
            directories: Vec::new(),
            store: surroundings.folder("XDG_STATE_HOME", &home, ".local/state"),
            settings,
            cache: surroundings.folder("XDG_CACHE_HOME", &home, ".cache"),
            project: None,
            home,
            cascade: None,
            slots: BTreeMap::new(),
            providers: Vec::new(),
            selector: false,
            presets: Vec::new(),
            picture_models: Vec::new(),
            embedding: EmbeddingSetting::default(),
            semantic_threshold: crate::domain::embed::NEAR,
            permissions: BTreeMap::new(),
            private_tags: vec!["private".into()],
            untrusted_folders: Vec::new(),
            trusted_remotes: Vec::new(),
            allowed_hosts: Vec::new(),
            org: OrgSettings::default(),
            assistant: "Passepartout".to_string(),
            memory_tokens: 4_000,
            context_tokens: 16_384,
            log_lines: 20,
            deadline_minutes: 60,
            caps: Caps::default(),
            connect_timeout: 5,
            request_timeout: 60,
            stall_timeout: 30,
            answer_timeout: 1_800,
            embedding_timeout: 120,
            request_tries: 3,
            retry_wait: 20,
            consensus: BTreeMap::new(),
            consensus_timeout: 120,
            background_timeout: 600,
            auto_save: 300,
            heartbeat: 60,
            telegram_url: TELEGRAM.to_string(),
            signal_address: signal_socket(&surroundings.variables),
            signal_account: String::new(),
            save_on_exit: true,
            history_days: 0,
            self_build: false,
            undo_bytes: 256 << 20,
            undo_files: 20_000,
            rule_threshold: 3,
            plan_hours: 24,
            listen: None,
            dry_run: true,
            attended: true,
            skill_directories: Vec::new(),
            mcp_servers: Vec::new(),
            launcher: None,
            shipped_skills: None,
            notices,
        };
        config.take_variables(&variables);
        config.read_servers(&variables, &surroundings.variables);
        let unknown = config.unknown_among(&in_file);
        config.notices.extend(unknown);
        config
    }

    /// Says of each name in the `.env` file of the settings folder that it is none of a setting.
    pub fn unknown_names(&self) -> Vec<String> {
        let read = crate::edge::secret::read_env_file(&self.settings.join(".env")).unwrap_or_default();
        self.unknown_among(&read.into_iter().map(|(name, _)| name).collect())
    }

    /// Who mistypes the name of a cap must not believe that it holds.
    fn unknown_among(&self, names: &BTreeSet<String>) -> Vec<String> {
        let servers = || self.mcp_servers.iter().flat_map(|server| &server.declared.variables);
        let is_known = |name: &str| {
            READ.contains(&name)
                || IGNORED.iter().any(|(ignored, _)| *ignored == name)
                // A provider that Emacs declares may have any name.
                || name.ends_with("_API_KEY")
                || servers().any(|(variable, given)| variable == name && given.is_none())
        };
        let said = |name: &String| {
            let meant = nearest(name, READ.iter().copied()).map(|meant| format!(" {meant} may be meant."));
            format!("{} in .env is no setting, and changes nothing.{}", exact(name), meant.unwrap_or_default())
        };
        names.iter().filter(|name| !is_known(name)).take(UNKNOWN).map(said).collect()
    }

    fn take_variables(&mut self, variables: &BTreeMap<String, String>) {
        let text = |name: &str| variables.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
        let list = |name: &str| {
            text(name).map(|v| v.split([',', ' ']).filter(|s| !s.is_empty()).map(str::to_string).collect())
        };
        if let Some(folder) = text("MEMEX_DIR") {
            self.directories = vec![self.expand(folder)];
        }
        if let Some(name) = text("MEMEX_ASSISTANT") {
            self.assistant = name.to_string();
        }
        self.cascade = list("PROVIDER_CASCADE");
        let slots = [
            (Slot::Code, "PROVIDER_CASCADE_CODE"),
            (Slot::Plan, "PROVIDER_CASCADE_PLAN"),
            (Slot::Chat, "PROVIDER_CASCADE_CHAT"),
            (Slot::Background, "PROVIDER_CASCADE_BACKGROUND"),
        ];
        self.slots = slots.into_iter().filter_map(|(slot, name)| Some((slot, list(name)?))).collect();
        self.picture_models = list("PICTURE_MODELS").unwrap_or_default();
        let tags: Option<Vec<String>> = list("PRIVACY_FILTER_TAGS");
        if let Some(tags) = tags {
            self.private_tags.clear();
            tags.iter().for_each(|tag| self.take_private_tag(PrivacyTag::read(tag)));
        }
        if let Some(folders) = text("UNTRUSTED_DIRS") {
            let named = folders.split(':').map(str::trim).filter(|folder| !folder.is_empty());
            self.untrusted_folders = named.map(|folder| self.expand(folder)).collect();
        }
        if let Some(word) = text("PASSEPARTOUT_LISTEN") {
            self.take_listen(word);
        }
        if let Some(folders) = text("SKILLS_DIRS") {
            let named = folders.split(':').map(str::trim).filter(|folder| !folder.is_empty());
            self.skill_directories = named.map(|folder| self.expand(folder)).collect();
        }
        if let Some(remotes) = list("TRUSTED_REMOTES") {
            self.trusted_remotes = remotes;
        }
        if let Some(hosts) = list("ALLOWED_HOSTS") {
            self.allow_hosts(hosts);
        }
        for name in ["SESSION_BUDGET_USD", "DAY_BUDGET_USD", "BACKGROUND_BUDGET_USD", "UNPRICED_CALLS"] {
            if let Some(said) = text(name) {
                self.take_cap(name, said);
            }
        }
        let shares: Vec<String> = list("CONSENSUS").unwrap_or_default();
        for (slot, count) in shares.iter().map(|share| share.split_once('=').unwrap_or((share, ""))) {
            self.take_consensus(slot, count);
        }
        let mut number = |name: &str, into: &mut dyn FnMut(u64)| match text(name).map(str::parse::<u64>) {
            None => {}
            Some(Ok(value)) => into(value),
            Some(Err(_)) => self.notices.push(format!("{name} is ignored: it is not a whole number.")),
        };
        number("CONTEXT_MAX_TOKENS", &mut |n| self.context_tokens = n as usize);
        number("CONTEXT_LOG_LIMIT", &mut |n| self.log_lines = n as usize);
        number("DEADLINE_WARNING_MINUTES", &mut |n| self.deadline_minutes = n.min(100_000) as u32);
        number("UNDO_MAX_MB", &mut |n| self.undo_bytes = n.min(1 << 20) << 20);
        number("DISPATCHER_RULE_THRESHOLD", &mut |n| self.rule_threshold = n);
        number("UNDO_MAX_FILES", &mut |n| self.undo_files = n.min(10_000_000) as usize);
        number("PLAN_HOURS", &mut |n| self.plan_hours = hours(n));
        number("CONNECT_TIMEOUT", &mut |n| self.connect_timeout = seconds(n));
        number("REQUEST_TIMEOUT", &mut |n| self.request_timeout = seconds(n));
        number("STALL_TIMEOUT", &mut |n| self.stall_timeout = seconds(n));
        number("ANSWER_TIMEOUT", &mut |n| self.answer_timeout = seconds(n));
        number("EMBEDDING_TIMEOUT", &mut |n| self.embedding_timeout = seconds(n));
        number("REQUEST_TRIES", &mut |n| self.request_tries = tries(n));
        number("RETRY_WAIT", &mut |n| self.retry_wait = n.min(3600));
        number("CONSENSUS_TIMEOUT", &mut |n| self.consensus_timeout = seconds(n));
        number("BACKGROUND_TIMEOUT", &mut |n| self.background_timeout = seconds(n));
        number("MEMORY_AUTO_SAVE_INTERVAL", &mut |n| self.auto_save = n);
        number("HEARTBEAT_INTERVAL", &mut |n| self.heartbeat = n.clamp(1, 86_400));
        number("MEMORY_HISTORY_RETENTION", &mut |n| self.history_days = n.min(100_000) as u32);
        if let Some(word) = text("EMBEDDING_PROVIDER") {
            self.take_embedding_backend(word);
        }
        self.embedding.model = text("EMBEDDING_MODEL").map(str::to_string);
        self.embedding.url = text("EMBEDDING_URL").map(with_scheme);
        if let Some(url) = text("TELEGRAM_URL") {
            self.telegram_url = url.to_string();
        }
        if let Some(address) = text("SIGNAL_CLI_ADDRESS") {
            self.signal_address = Some(address.to_string());
        }
        self.signal_account = text("SIGNAL_ACCOUNT_NUMBER").unwrap_or_default().to_string();
        match text("CONTEXT_SEMANTIC_THRESHOLD").map(|number| (number.parse::<f32>(), number)) {
            None => {}
            Some((Ok(number), _)) if (0.0..=1.0).contains(&number) => self.semantic_threshold = number,
            Some(_) => {
                self.notices.push("CONTEXT_SEMANTIC_THRESHOLD is ignored: it is no number from 0 to 1.".to_string())
            }
        }
        self.save_on_exit = !text("MEMORY_SAVE_ON_EXIT").is_some_and(|v| v.eq_ignore_ascii_case("false"));
        self.dry_run = !text("DRY_RUN").is_some_and(|v| v.eq_ignore_ascii_case("false"));
        self.self_build = text("SELF_BUILD_MODE").is_some_and(|v| v.eq_ignore_ascii_case("true"));
        for (variable, name, kind) in [
            ("OLLAMA_HOST", "ollama", "ollama"),
            ("LLAMA_HOST", "llamacpp", "openai"),
            ("LOCAL_BASE_URL", "local", "openai"),
        ] {
            if let Some(url) = text(variable) {
                self.providers.push(ProviderSetting {
                    name: name.to_string(),
                    kind: kind.to_string(),
                    url: Some(with_scheme(url)),
                    local: true,
                    ..ProviderSetting::default()
                });
            }
        }
    }

    /// Reads the file of MCP servers: the one that is named, or that of the settings folder.
    fn read_servers(&mut self, variables: &BTreeMap<String, String>, environment: &BTreeMap<String, String>) {
        let named = variables.get("MCP_SERVERS").map(|path| path.trim()).filter(|path| !path.is_empty());
        let path = named.map_or_else(|| self.settings.join(setting::FILE), |path| self.expand(path));
        let mut notices = Vec::new();
        // Keys of a core without Emacs stand in `.env`; the environment wins.
        let mut ours = variables.clone();
        ours.extend(environment.iter().map(|(name, value)| (name.clone(), value.clone())));
        let around = Around { ours: &ours, expand: &|folder| self.expand(folder) };
        self.mcp_servers = setting::read_file(&path, &around, &mut notices);
        if named.is_some() && !path.exists() {
            notices.push(format!("No MCP server is read: there is no file {}.", path.display()));
        }
        self.notices.extend(notices);
    }

    /// Takes the MCP servers that Emacs sent, each in place of one of that name in the file.
    fn take_servers(&mut self, settings: &Sexp) {
        let environment = Surroundings::of_settings(settings).variables;
        let mut notices = Vec::new();
        let around = Around { ours: &environment, expand: &|folder| self.expand(folder) };
        let sent = setting::read_emacs(settings.list_at("mcp-servers"), &around, &mut notices);
        let is_sent = |name: &str| sent.iter().any(|setting| setting.declared.name == name);
        self.mcp_servers.retain(|setting| !is_sent(&setting.declared.name));
        self.mcp_servers.extend(sent);
        self.mcp_servers.truncate(MOST_SERVERS);
        self.notices.extend(notices);
    }

    /// Takes a cap; one that cannot be read allows nothing, and is a notice.
    fn take_cap(&mut self, name: &str, said: &str) {
        let amount = match name {
            "UNPRICED_CALLS" => said.trim().parse::<u64>().ok(),
            _ => Micros::parse(said).map(|amount| amount.0),
        };
        if amount.is_none() {
            let like = if name == "UNPRICED_CALLS" { "a whole number such as 10" } else { "dollars such as 2.50" };
            self.notices.push(format!(
                "{name} is “{}”, which is not {like}: until it is mended, nothing that it is about is asked.",
                crate::domain::inert::exact(said)
            ));
        }
        let amount = amount.unwrap_or(0);
        match name {
            "SESSION_BUDGET_USD" => self.caps.session = Some(Micros(amount)),
            "DAY_BUDGET_USD" => self.caps.day = Some(Micros(amount)),
            "BACKGROUND_BUDGET_USD" => self.caps.background = Some(Micros(amount)),
            _ => self.caps.unpriced = Some(amount),
        }
    }

    /// Takes how many models are asked at once for a kind of work; what cannot be read is a notice.
    fn take_consensus(&mut self, slot: &str, count: &str) {
        match (Slot::parse(slot), count.parse::<usize>()) {
            (Some(slot), Ok(count @ 1..=MOST)) => drop(self.consensus.insert(slot, count)),
            _ => self.notices.push(format!(
                "The consensus “{}={}” is ignored: write code, plan, chat or background, and how many models from 1 to \
                 {MOST}, as in code=3.",
                crate::domain::inert::exact(slot),
                crate::domain::inert::exact(count)
            )),
        }
    }

    fn take_embedding_backend(&mut self, word: &str) {
        match Backend::parse(word) {
            Some(backend) => self.embedding.backend = Some(backend),
            None => self.notices.push(format!(
                "The embedding backend “{}” is ignored: write hashing, local or openai.",
                crate::domain::inert::exact(word)
            )),
        }
    }

    fn take_private_tag(&mut self, (tag, wrong): (PrivacyTag, Option<String>)) {
        self.private_tags.push(tag);
        self.notices.extend(wrong);
    }

    /// Takes in rules about hosts; one that could never name a host is a notice.
    fn allow_hosts(&mut self, rules: Vec<String>) {
        for rule in rules {
            match crate::domain::web::is_rule(&rule) {
                true => self.allowed_hosts.push(rule),
                false => self.notices.push(format!(
                    "The allowed host “{}” is none: write example.org for one host, .example.org for all below it.",
                    crate::domain::inert::exact(&rule)
                )),
            }
        }
    }

    /// Takes the settings that Emacs sent; see `docs/PROTOCOL.org`. What cannot be read is a notice.
    pub fn take_settings(&mut self, settings: &Sexp) {
        let folders =
            |key: &str| settings.list_at(key).iter().filter_map(Sexp::as_text).map(|s| self.expand(s)).collect();
        let directories: Vec<PathBuf> = folders("directories");
        let skills: Vec<PathBuf> = folders("skills-directories");
        let untrusted: Vec<PathBuf> = folders("untrusted-folders");
        if !directories.is_empty() {
            self.directories = directories;
        }
        self.skill_directories.extend(skills);
        let path = |key: &str| settings.text_at(key).map(|s| self.expand(s));
        let (store, project, shipped, launcher) =
            (path("store"), path("project"), path("shipped-skills"), path("launcher"));
        self.store = store.unwrap_or_else(|| self.store.clone());
        self.project = project.or(self.project.take());
        self.shipped_skills = shipped.or(self.shipped_skills.take());
        self.launcher = launcher.or(self.launcher.take());
        let names = |key: &str| -> Vec<String> {
            settings.list_at(key).iter().filter_map(Sexp::as_name).map(str::to_string).collect()
        };
        let mut providers = self.provider_settings();
        self.notices.extend(providers.take(settings));
        (self.cascade, self.slots, self.providers) = (providers.cascade, providers.slots, providers.declared);
        (self.selector, self.presets) = (providers.selector, providers.presets);
        self.picture_models = providers.picture_models;
        if settings.get("private-tags").is_some() {
            self.private_tags.clear();
            for entry in settings.list_at("private-tags") {
                match (entry.as_name(), pair(entry)) {
                    (Some(tag), _) => self.private_tags.push(tag.into()),
                    (None, Some((tag, tier))) => self.take_private_tag(PrivacyTag::of(&tag, &tier)),
                    (None, None) => self.notices.push(
                        "A private tag is ignored: write a tag, or (TAG . TIER) with block, ask or warn.".to_string(),
                    ),
                }
            }
        }
        if settings.get("mcp-servers").is_some() {
            self.take_servers(settings);
        }
        // Beside what the environment names: one of the two may know more.
        self.untrusted_folders.extend(untrusted);
        self.trusted_remotes.extend(names("trusted-remotes"));
        self.allow_hosts(names("allowed-hosts"));
        for entry in settings.list_at("permissions") {
            if let Some((tool, level)) = pair(entry) {
                match Level::parse(&level) {
                    Some(level) => {
                        self.permissions.insert(tool, level);
                    }
                    None => self.notices.push(format!("The permission of {tool} is ignored: “{level}” is no level.")),
                }
            }
        }
        self.org.take(settings, &mut self.notices);
        let number = |key: &str, into: &mut dyn FnMut(u64)| settings.count_at(key).map(|n| into(n as u64));
        number("connect-timeout", &mut |n| self.connect_timeout = seconds(n));
        number("request-timeout", &mut |n| self.request_timeout = seconds(n));
        number("stall-timeout", &mut |n| self.stall_timeout = seconds(n));
        number("answer-timeout", &mut |n| self.answer_timeout = seconds(n));
        number("embedding-timeout", &mut |n| self.embedding_timeout = seconds(n));
        number("request-tries", &mut |n| self.request_tries = tries(n));
        number("retry-wait", &mut |n| self.retry_wait = n.min(3600));
        number("consensus-timeout", &mut |n| self.consensus_timeout = seconds(n));
        number("background-timeout", &mut |n| self.background_timeout = seconds(n));
        for entry in settings.list_at("consensus") {
            let (slot, count) = pair(entry).unwrap_or_default();
            self.take_consensus(&slot, &count);
        }
        for (key, name) in [
            ("session-budget", "SESSION_BUDGET_USD"),
            ("day-budget", "DAY_BUDGET_USD"),
            ("background-budget", "BACKGROUND_BUDGET_USD"),
            ("unpriced-calls", "UNPRICED_CALLS"),
        ] {
            if let Some(value) = settings.get(key) {
                // What is no text is no amount, and allows nothing.
                self.take_cap(name, value.as_text().unwrap_or("?"));
            }
        }
        if let Some(word) = settings.name_at("embedding-backend") {
            self.take_embedding_backend(word);
        }
        let said = |key: &str| settings.text_at(key).map(str::to_string);
        let (model, url) = (said("embedding-model"), said("embedding-url"));
        self.embedding.model = model.or(self.embedding.model.take());
        self.embedding.url = url.or(self.embedding.url.take());
        if let Some(n) = settings.count_at("memory-tokens") {
            self.memory_tokens = n;
        }
        if settings.get("dry-run").is_some() {
            self.dry_run = settings.flag_at("dry-run");
        }
        if let Some(listen) = settings.get("listen") {
            self.take_listen(if *listen == Sexp::T { "t" } else { listen.as_name().unwrap_or("?") });
        }
        if let Some(n) = settings.count_at("plan-hours") {
            self.plan_hours = hours(n as u64);
        }
        if let Some(name) = settings.text_at("assistant") {
            self.assistant = name.to_string();
        }
    }

    /// Returns the providers and their order.
    pub fn provider_settings(&self) -> ProviderSettings {
        ProviderSettings {
            cascade: self.cascade.clone(),
            declared: self.providers.clone(),
            slots: self.slots.clone(),
            chosen: None,
            models: BTreeMap::new(),
            selector: self.selector,
            presets: self.presets.clone(),
            picture_models: self.picture_models.clone(),
        }
    }

    /// Returns a path with `~` and `$NAME` of this process expanded.
    pub fn expand(&self, path: &str) -> PathBuf {
        let path = match path.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None if path == "~" => self.home.clone(),
            None => PathBuf::from(expand_variables(path, &|name| std::env::var(name).ok())),
        };
        if path.is_absolute() { path } else { std::env::current_dir().unwrap_or_default().join(path) }
    }
}

/// A time that a provider may take, in seconds: at least one, and at most a day.
fn seconds(number: u64) -> u64 {
    number.clamp(1, 24 * 3600)
}

/// How often a provider is asked: at least once.
fn tries(number: u64) -> u32 {
    number.clamp(1, 20) as u32
}

/// Returns an address with a scheme, as some servers are named without one.
fn with_scheme(url: &str) -> String {
    if url.contains("://") { url.to_string() } else { format!("http://{url}") }
}

/// The life of a plan in hours: at least one, and at most a year.
fn hours(number: u64) -> u32 {
    number.clamp(1, 24 * 366) as u32
}

/// Returns a text with `$NAME` and `${NAME}` replaced; unknown names stay as they are.
pub fn expand_variables(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let tail = &rest[at + 1..];
        let (name, used) = match tail.strip_prefix('{').and_then(|t| t.split_once('}')) {
            Some((name, _)) => (name, name.len() + 2),
            None => {
                let end = tail.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(tail.len());
                (&tail[..end], end)
            }
        };
        match lookup(name).filter(|_| !name.is_empty()) {
            Some(value) => out.push_str(&value),
            None => out.push_str(&rest[at..at + 1 + used]),
        }
        rest = &tail[used..];
    }
    out.push_str(rest);
    out
}

/// `(NAME VALUE)` or `(NAME . VALUE)`.
fn pair(entry: &Sexp) -> Option<(String, String)> {
    match entry {
        Sexp::List(items) => match items.as_slice() {
            [name, value] => Some((name.as_name()?.to_string(), value.as_name()?.to_string())),
            _ => None,
        },
        Sexp::Dotted(items, tail) => match items.as_slice() {
            [name] => Some((name.as_name()?.to_string(), tail.as_name()?.to_string())),
            _ => None,
        },
        Sexp::Nil | Sexp::T | Sexp::Keyword(_) | Sexp::Symbol(_) | Sexp::Str(_) | Sexp::Int(_) | Sexp::Float(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_brings_its_own_environment() {
        let settings = Sexp::read(r#"(:environment (("HOME" . "/h") ("A" . "") (7 . "x") "B"))"#);
        let surroundings = Surroundings::of_settings(&settings.expect("a test's own settings"));
        let found: Vec<_> =
            surroundings.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(found, [("A", ""), ("HOME", "/h")]);
        assert_eq!(Surroundings::of_settings(&Sexp::Nil).variables, Surroundings::of_process().variables);
    }

    #[test]
    fn what_org_is_told_replaces_what_was_taken_for_granted() {
        let check = |told: &str, expected: &[&str]| {
            let mut org = OrgSettings::default();
            org.take(&Sexp::read(told).expect("a test's own settings"), &mut Vec::new());
            assert_eq!(org.todo_sequences, expected, "{told}");
        };
        check("()", &["TODO | DONE"]);
        check(r#"(:todo-keywords (("TODO" "DONE")))"#, &["TODO | DONE"]);
        check(r#"(:todo-keywords (("TODO" "DONE") ("WAIT" "|" "OFF" "DONE")))"#, &["TODO | DONE", "WAIT | OFF DONE"]);
        check(r#"(:todo-keywords (("READ") ()))"#, &["| READ"]);
    }

    #[test]
    fn variables_expand() {
        let lookup = |name: &str| (name == "A").then(|| "x".to_string());
        for (given, expanded) in
            [("$A/b", "x/b"), ("${A}b", "xb"), ("$B/c", "$B/c"), ("a$", "a$"), ("${A", "${A"), ("$", "$")]
        {
            assert_eq!(expand_variables(given, &lookup), expanded, "for {given}");
        }
    }
}
