//! Names of services that give out keys and tokens: a token drawn by lot beside one of them is theirs.
//!
//! The names are those of the services that public scanners know (see [`super::more`]).
//! A name stands for all that begin with it when it has five letters or more.
//! Names that are words of a language, or of programs, stand apart: any text has them, and they tell nothing alone.

use std::collections::HashMap;
use std::sync::LazyLock;

/// What sort of name a service has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// No text has it that does not mean the service.
    Own,
    /// It is a word, too, and means the service only where a key is spoken of.
    Word,
}

static NAMES: LazyLock<HashMap<&'static str, Name>> = LazyLock::new(|| {
    let own = SERVICES.split_ascii_whitespace().map(|name| (name, Name::Own));
    own.chain(WORDS.split_ascii_whitespace().map(|name| (name, Name::Word))).collect()
});

/// Builds the table now, so that no text pays for it.
pub(super) fn prepare() {
    LazyLock::force(&NAMES);
}

/// Returns what a word in lower case, without signs, is as the name of a service, or begins with; `None` when it is none.
pub(super) fn named(word: &str) -> Option<Name> {
    let heads = (5..word.len().min(24)).filter_map(|n| word.get(..n));
    let mut found = None;
    for head in heads.chain([word]) {
        match NAMES.get(head) {
            Some(Name::Own) => return Some(Name::Own),
            Some(Name::Word) => found = Some(Name::Word),
            None => {}
        }
    }
    found
}

/// Names that are no words. In alphabetical order, with white space between.
const SERVICES: &str = "\
    1password abuseipdb abyssale accuweather activecampaign adafruit adyen adzuna aeroworkflow ai21 \
    airbrake airtable airvisual aiven alconost alegra aletheia algolia alibaba alienvault allsports \
    ambee anthropic anypoint apacta api2cart apideck apiflash apifonica apify apilayer apimatic \
    apimetrics apitemplate appcenter appcues appdynamics appfollow appointedd appoptics appsynergy \
    apptivo appveyor artifactory artsy asaas asana assemblyai atera atlassian audd auth0 authorizenet \
    authress autodesk autoklose avaza aviationstack awsaccess axonaut aylien ayrshare azure backblaze \
    bannerbear baremetrics baseten beebole besnappy betterstack betteruptime bigcommerce billomat \
    binance bitbar bitbucket bitcoinaverage bitfinex bitly bitmex bitrise bitstamp bittrex bitwarden \
    blazemeter blitapp blocknative blynk bombbomb boostnote borgbase boxcom boxoauth braintree \
    braintrust branchio brandfetch brightdata browserless browserstack browshot bscscan buddyns budibase \
    bugfender bugherd bugsnag buildkite bulksms bunnycdn buttercms bybit caflou calendarific calendly \
    calorieninja campayn cannyio capsulecrm captaindata carboninterface cashboard caspio censys \
    centralstationcrm cerebras cexio cfxre chargebee chartmogul chatfule checio checkio checklyhq \
    checkmarx checkoutcom checkvist cicero circleci ciscomeraki civo clarifai clearbit clearml clickhelp \
    clickhouse clicksendsms clickup cliengo clientary clinchpad clockify clockworksms clojars closecrm \
    cloudconvert cloudelements cloudflare cloudimage cloudinary cloudmersive cloudns cloudplan \
    cloudsight cloudsmith cloverly clustdoc cockroachlabs codacy codeclimate codecov codequiry \
    coderabbit codeship coinapi coinbase coinlayer coinlib commercejs commercetools configcat contabo \
    contentstack conversiontools convertapi convertkit convier copernica coralogix couchbase \
    countrylayer coveralls coze craftmypdf cratesio crowdin crowdstrike cryptocompare currencycloud \
    currencyfreaks currencylayer currencyscoop currentsapi customerguru customerio d7network dailyco \
    dareboost dashlane databento databox databricks datadog datagov datastax deepai deepgram deepl \
    deepseek definednetworking demio denopat dependencytrack desec detectify devcycle deviantart dfuse \
    diffbot diggernaut digitalocean dnsimple dockerhubpat docparser docusign doppler dotdigital dovico \
    dronahq droneci dropbox drupal duffel duosecurity dwolla dynalist dynatrace dyspatch \
    eagleeyenetworks easyinsight easypost ebay ecostruxureit edamam edenai eightxeight elevenlabs \
    enablex endorlabs envoyapikey eraserio etherscan ethplorer etsy eventbrite everhour exaai exoscale \
    extractorapi facebook faceplusplus fastforex fastly fastmail feedier fetchrss fibery figma filezilla \
    finage financialmodelingprep finicity finnhub firebase firecrawl fixerio flatio fleetbase flexport \
    flickr flightapi flightlabs flightstats flowflu flutterwave flyio fmfw formbucket formcraft formsite \
    foursquare freemius freshbooks freshdesk freshsales fullstory fxmarket gandi gcnotify gcpexpressmode \
    gcpoauth2 gcpsak gcshmac geckoboard gengo geoapify geocodify geocodio geoipifi gitalk gitea \
    githuboauth2 gitlab glassnode gocanvas gocardless godaddy goodday googlegemini googleoauth2 gotify \
    grafana graphcms graphhopper greptile greynoise grokxai groovehq groq gtmetrix guardianapi gumroad \
    gyazo happyscribe hashicorp hasura helicone hellosign helpcrunch helpscout hereapi heroku hetzner \
    hibp hiveage holidayapi hostinger hubspot huggingface huobi hybiscus hypertrack ibmcloud iconfinder \
    iexapis iexcloud imagekit imagga influxdb infobip infomaniak infracost infura insightly instabot \
    instagram instamojo instana interseller intra42 intrinio invoiceocean ionos ip2location \
    ipgeolocation ipquality ipstack jenkins jfrog jina jira jotform jumpcloud jupiterone kagi kanbantool \
    karmacrm keenio keycdn keycloak kickbox klarna klaviyo klingai klipfolio knapsackpro kontent koyeb \
    kucoin kylas lambdalabs langchain langfuse langsmith languagelayer larksuite lastpass launchdarkly \
    leadfeeder lemlist lemonsqueezy lendflow lessannoyingcrm lexigram lichess lightstep linearapi \
    linemessaging linenotify linkedin linode liveagent livestorm loadmill locationiq logdna logentries \
    loggly loginradius logzio lokalise loyverse luadns lunchmoney luno lusha madkudu magento \
    mailboxlayer mailchimp mailerlite mailersend mailgun mailjet mailmodo mailsac mailtrap mandrill \
    mapbox mapquest marketstack mattermost mavenlink maxmind meaningcloud mediastack meistertask mergify \
    mesibo messagebird metaapi metabase metrilo mezmo microsoftteams midjourney midtrans migadu \
    mindmeister miro mixmax mixpanel mockaroo mollie mongodb monkeylearn moonclerk moosend moralis \
    mrticktock myfreshworks myintervals namecheap nasa nasdaqdatalink nethunt netlify netsuite newrelic \
    newsapi newscatcher nexmo nftport ngrok nicereply northflank nozbeteams ntfy nuget numverify \
    nutritionix nvapi nvidia nylas nytimes oanda octopusdeploy okta ollama omnisend onedesk onelogin \
    onepagecrm onepassword onesignal onfido onfleet oopspam openai opencagedata openproject openrouter \
    openshift openuv openweather opsgenie optimizely owlbot oxylabs packagecloud packagist pagarme \
    pagerduty pandadoc pandascore paperspace paralleldots parsehub parseur particleio partnerstack \
    pastebin paydirtapp paymoapp paymongo paypal paystack pdflayer pdfshift pendo peopledatalabs \
    pepipost pganalyzeread photoroom phpmailer pinterest pipedrive pivotaltracker pixabay planetscale \
    planviewleankit planyo plivo pollsapi poloniex polymarket porkbun portainer positionstack postageapp \
    posthog powrbot prestashop prismic privateai prodpad prospectcrm protocolsio protonmail proxycrawl \
    psexec pubnub pulumi purestake pushbullet pusherchannel pyowm pyxkey qase qdrant qualaroo qubole \
    quickbooks quicknode rabbitmq rainforestpay rapidapi rawg razorpay reachmail reallysimplesystems \
    rebrandly rechargepayments redhatpyxis redirectpizza redmine rentman repairshopr replyio \
    requestfinance restpack retellai revampcrm ringcentral ritekit robinhoodcrypto rocketchat \
    rocketreach rockset rollbar rootly route4me rownd rubygems runpod runrunit saladcloud salesblink \
    salescookie salesflare salesforce salesloft salesmate samsara satismeterproject satismeterwrite \
    saucelabs scaleway scalingo scalr scrapeowl scraperapi scraperbox scrapestack scrapfly scrapingant \
    scrapingbee screenshotapi screenshotlayer scrutinizerci securitytrails segmentapikey sendbird \
    sendgrid sendinblue sentinelone serpapi serper serphouse serpstack settlemint sheety sherpadesk \
    shipday shippo shodan shopify shopware shotstack shutterstock sidekiq signaturit signoz signupgenius \
    sigopt simfin simplesat simplynoted simvoly sirv siteleaf skrapp skrappio skybiometry smartproxy \
    smartsheet smartystreets snipcart snov snyk solarwindsobservability sourcegraph sparkpost \
    spectralops speechtextai splunk spoonacular sportsmonk spotify squareapp squarespace squareup \
    sslmate stackhawk statuscake statuspal stitchdata stockdata storecove storj stormboard stormglass \
    storyblok storychief strapi strava stripo stytch sugester sumologic supabase supernotes \
    surveyanyplace surveybot surveysparrow survicate swiftype tailscale tallyfy tatumio tavily taxjar \
    teamcity teamgate teamworkcrm teamworkdesk teamworkspaces tefter telnyx terraformcloudpersonal \
    testingbot textmagic theodds thingsboard thinkific thousandeyes thunderstore ticketmaster \
    tickettailor tiingo timecamp tinkkeyset tmetric todoist togetherai toggltrack tokeet tomorrowio \
    tomtom tradier transferwise travelpayouts trello truenas trufflehogenterprise twelvedata twilio \
    twitter tyntec typeform typetalk typo3 ubidots uclassify unifyid unkey unsplash upcdatabase upcloud \
    uplead uploadcare upstash uptimerobot upwave userstack vagrantcloud valtown vastai vatlayer \
    vaultwarden vbout veracode vercel verimail veriphone versioneye viewneo virustotal visualcrossing \
    vmware voiceflow voicegain vonage voodoosms vouchery voyageai vpnapi vultr vyte wakatime walkscore \
    wandb weatherbit weatherstack weaviate web3storage webex webflow websitepulse weightsandbiases wepay \
    whitesource whoxy wistia woocommerce wordpress workato worksnaps workstack worldcoinindex worldpay \
    wpengine wrike xero yandex yelp youneedabudget yousign youtrack youtube zapier zendesk zenkit \
    zenrows zenscrape zenserp zeplin zerobounce zerotier zhipu zipapi zipbooks zipcodeapi zipcodebase \
    zoho zohocrm zonkafeedback zoominfo zulip zuora zuplo \
";

/// Names that are words: of a language (“railway”), as somebody is called (“travis”), or as programs name what they do
/// (`getResponse`), also as the beginning of others (“coherent”).
const WORDS: &str = "\
    adobe aikido airship alchemy amadeus amplitude autopilot bandwidth basecamp beamer besttime blogger \
    bulbul canny canva cloze coda codemagic cohere collect2 confluence confluent contentful cypress \
    debounce deputy detectlanguage devin discord dnscheck elastic enigma exchangerate fileio findl \
    fireworks formio frameio friendli fulcrum gcore gemini geocode getemail getgeo getgist getresponse \
    getsandbox gitter healthchecks highnote holistic honeybadger honeycomb html2pdf intercom ionic ipapi \
    ipinfo iterable kraken lighton linkpreview magicbell meraki milvus minimax mistral neutrino \
    nightfall noticeable notion opensea overloop paperform papertrail parsers percy perplexity phrase \
    pinata pinecone pipedream plaid polygon postbacks postman postmark prefect pushover railway raygun \
    recurly replicate resend revolut sanity selectpdf sentry signalwire sinch slack smooch snowflake \
    sonar stability statuspage stripe tableau technicalanalysis telegraf telegram teletype tines travis \
    twitch unplugg upstage urlscan wasabi webscraper woodpecker workos worldweather \
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_known_by_their_names_and_what_begins_with_them() {
        for name in ["mailchimp", "datadogapi", "openweathermap", "coze"] {
            assert_eq!(named(name), Some(Name::Own), "{name}");
        }
        for word in ["railway", "notion", "phrases", "coherent", "getresponse", "getresponsebody"] {
            assert_eq!(named(word), Some(Name::Word), "{word}");
        }
        for word in ["docker", "commit", "key", "coz", "cozette", "", "user"] {
            assert_eq!(named(word), None, "{word}");
        }
    }

    #[test]
    fn no_name_is_of_both_sorts() {
        let both =
            SERVICES.split_ascii_whitespace().find(|name| WORDS.split_ascii_whitespace().any(|word| word == *name));
        assert_eq!(both, None);
    }
}
