//! Names of services that give out keys and tokens: a token drawn by lot beside one of them is theirs.
//!
//! The names are those of the services that public scanners know (see [`super::more`]), without words that any text has.
//! A name stands for all that begin with it when it has five letters or more.

use std::collections::HashSet;
use std::sync::LazyLock;

static NAMES: LazyLock<HashSet<&'static str>> = LazyLock::new(|| SERVICES.split_ascii_whitespace().collect());

/// Builds the table now, so that no text pays for it.
pub(super) fn prepare() {
    LazyLock::force(&NAMES);
}

/// Returns whether a word in lower case, without signs, is or begins with the name of a service.
pub(super) fn is_named(word: &str) -> bool {
    let names = &*NAMES;
    names.contains(word) || (5..word.len().min(24)).any(|n| word.get(..n).is_some_and(|head| names.contains(head)))
}

/// In alphabetical order, with white space between.
const SERVICES: &str = "\
    1password abuseipdb abyssale accuweather activecampaign adafruit adobe adyen adzuna aeroworkflow ai21 \
    aikido airbrake airship airtable airvisual aiven alchemy alconost alegra aletheia algolia alibaba \
    alienvault allsports amadeus ambee amplitude anthropic anypoint apacta api2cart apideck apiflash \
    apifonica apify apilayer apimatic apimetrics apitemplate appcenter appcues appdynamics appfollow \
    appointedd appoptics appsynergy apptivo appveyor artifactory artsy asaas asana assemblyai atera \
    atlassian audd auth0 authorizenet authress autodesk autoklose autopilot avaza aviationstack awsaccess \
    axonaut aylien ayrshare azure backblaze bandwidth bannerbear baremetrics basecamp baseten beamer beebole \
    besnappy besttime betterstack betteruptime bigcommerce billomat binance bitbar bitbucket bitcoinaverage \
    bitfinex bitly bitmex bitrise bitstamp bittrex bitwarden blazemeter blitapp blocknative blogger blynk \
    bombbomb boostnote borgbase boxcom boxoauth braintree braintrust branchio brandfetch brightdata \
    browserless browserstack browshot bscscan buddyns budibase bugfender bugherd bugsnag buildkite bulbul \
    bulksms bunnycdn buttercms bybit caflou calendarific calendly calorieninja campayn canny cannyio canva \
    capsulecrm captaindata carboninterface cashboard caspio censys centralstationcrm cerebras cexio cfxre \
    chargebee chartmogul chatfule checio checkio checklyhq checkmarx checkoutcom checkvist cicero circleci \
    ciscomeraki civo clarifai clearbit clearml clickhelp clickhouse clicksendsms clickup cliengo clientary \
    clinchpad clockify clockworksms clojars closecrm cloudconvert cloudelements cloudflare cloudimage \
    cloudinary cloudmersive cloudns cloudplan cloudsight cloudsmith cloverly cloze clustdoc cockroachlabs \
    coda codacy codeclimate codecov codemagic codequiry coderabbit codeship cohere coinapi coinbase \
    coinlayer coinlib collect2 commercejs commercetools configcat confluence confluent contabo contentful \
    contentstack conversiontools convertapi convertkit convier copernica coralogix couchbase countrylayer \
    coveralls coze craftmypdf cratesio crowdin crowdstrike cryptocompare currencycloud currencyfreaks \
    currencylayer currencyscoop currentsapi customerguru customerio cypress d7network dailyco dareboost \
    dashlane databento databox databricks datadog datagov datastax debounce deepai deepgram deepl deepseek \
    definednetworking demio denopat dependencytrack deputy desec detectify detectlanguage devcycle \
    deviantart devin dfuse diffbot diggernaut digitalocean discord dnscheck dnsimple dockerhubpat docparser \
    docusign doppler dotdigital dovico dronahq droneci dropbox drupal duffel duosecurity dwolla dynalist \
    dynatrace dyspatch eagleeyenetworks easyinsight easypost ebay ecostruxureit edamam edenai eightxeight \
    elastic elevenlabs enablex endorlabs enigma envoyapikey eraserio etherscan ethplorer etsy eventbrite \
    everhour exaai exchangerate exoscale extractorapi facebook faceplusplus fastforex fastly fastmail \
    feedier fetchrss fibery figma fileio filezilla finage financialmodelingprep findl finicity finnhub \
    firebase firecrawl fireworks fixerio flatio fleetbase flexport flickr flightapi flightlabs flightstats \
    flowflu flutterwave flyio fmfw formbucket formcraft formio formsite foursquare frameio freemius \
    freshbooks freshdesk freshsales friendli fulcrum fullstory fxmarket gandi gcnotify gcore gcpexpressmode \
    gcpoauth2 gcpsak gcshmac geckoboard gemini gengo geoapify geocode geocodify geocodio geoipifi getemail \
    getgeo getgist getresponse getsandbox gitalk gitea githuboauth2 gitlab gitter glassnode gocanvas \
    gocardless godaddy goodday googlegemini googleoauth2 gotify grafana graphcms graphhopper greptile \
    greynoise grokxai groovehq groq gtmetrix guardianapi gumroad gyazo happyscribe hashicorp hasura \
    healthchecks helicone hellosign helpcrunch helpscout hereapi heroku hetzner hibp highnote hiveage \
    holidayapi holistic honeybadger honeycomb hostinger html2pdf hubspot huggingface huobi hybiscus \
    hypertrack ibmcloud iconfinder iexapis iexcloud imagekit imagga influxdb infobip infomaniak infracost \
    infura insightly instabot instagram instamojo instana intercom interseller intra42 intrinio invoiceocean \
    ionic ionos ip2location ipapi ipgeolocation ipinfo ipquality ipstack iterable jenkins jfrog jina jira \
    jotform jumpcloud jupiterone kagi kanbantool karmacrm keenio keycdn keycloak kickbox klarna klaviyo \
    klingai klipfolio knapsackpro kontent koyeb kraken kucoin kylas lambdalabs langchain langfuse langsmith \
    languagelayer larksuite lastpass launchdarkly leadfeeder lemlist lemonsqueezy lendflow lessannoyingcrm \
    lexigram lichess lighton lightstep linearapi linemessaging linenotify linkedin linkpreview linode \
    liveagent livestorm loadmill locationiq logdna logentries loggly loginradius logzio lokalise loyverse \
    luadns lunchmoney luno lusha madkudu magento magicbell mailboxlayer mailchimp mailerlite mailersend \
    mailgun mailjet mailmodo mailsac mailtrap mandrill mapbox mapquest marketstack mattermost mavenlink \
    maxmind meaningcloud mediastack meistertask meraki mergify mesibo messagebird metaapi metabase metrilo \
    mezmo microsoftteams midjourney midtrans migadu milvus mindmeister minimax miro mistral mixmax mixpanel \
    mockaroo mollie mongodb monkeylearn moonclerk moosend moralis mrticktock myfreshworks myintervals \
    namecheap nasa nasdaqdatalink nethunt netlify netsuite neutrino newrelic newsapi newscatcher nexmo \
    nftport ngrok nicereply nightfall northflank noticeable notion nozbeteams ntfy nuget numverify \
    nutritionix nvapi nvidia nylas nytimes oanda octopusdeploy okta ollama omnisend onedesk onelogin \
    onepagecrm onepassword onesignal onfido onfleet oopspam openai opencagedata openproject openrouter \
    opensea openshift openuv openweather opsgenie optimizely overloop owlbot oxylabs packagecloud packagist \
    pagarme pagerduty pandadoc pandascore paperform paperspace papertrail paralleldots parsehub parsers \
    parseur particleio partnerstack pastebin paydirtapp paymoapp paymongo paypal paystack pdflayer pdfshift \
    pendo peopledatalabs pepipost percy perplexity pganalyzeread photoroom phpmailer phrase pinata pinecone \
    pinterest pipedream pipedrive pivotaltracker pixabay plaid planetscale planviewleankit planyo plivo \
    pollsapi poloniex polygon polymarket porkbun portainer positionstack postageapp postbacks posthog \
    postman postmark powrbot prefect prestashop prismic privateai prodpad prospectcrm protocolsio protonmail \
    proxycrawl psexec pubnub pulumi purestake pushbullet pusherchannel pushover pyowm pyxkey qase qdrant \
    qualaroo qubole quickbooks quicknode rabbitmq railway rainforestpay rapidapi rawg raygun razorpay \
    reachmail reallysimplesystems rebrandly rechargepayments recurly redhatpyxis redirectpizza redmine \
    rentman repairshopr replicate replyio requestfinance resend restpack retellai revampcrm revolut \
    ringcentral ritekit robinhoodcrypto rocketchat rocketreach rockset rollbar rootly route4me rownd \
    rubygems runpod runrunit saladcloud salesblink salescookie salesflare salesforce salesloft salesmate \
    samsara sanity satismeterproject satismeterwrite saucelabs scaleway scalingo scalr scrapeowl scraperapi \
    scraperbox scrapestack scrapfly scrapingant scrapingbee screenshotapi screenshotlayer scrutinizerci \
    securitytrails segmentapikey selectpdf sendbird sendgrid sendinblue sentinelone sentry serpapi serper \
    serphouse serpstack settlemint sheety sherpadesk shipday shippo shodan shopify shopware shotstack \
    shutterstock sidekiq signalwire signaturit signoz signupgenius sigopt simfin simplesat simplynoted \
    simvoly sinch sirv siteleaf skrapp skrappio skybiometry slack smartproxy smartsheet smartystreets smooch \
    snipcart snov snowflake snyk solarwindsobservability sonar sourcegraph sparkpost spectralops \
    speechtextai splunk spoonacular sportsmonk spotify squareapp squarespace squareup sslmate stability \
    stackhawk statuscake statuspage statuspal stitchdata stockdata storecove storj stormboard stormglass \
    storyblok storychief strapi strava stripe stripo stytch sugester sumologic supabase supernotes \
    surveyanyplace surveybot surveysparrow survicate swiftype tableau tailscale tallyfy tatumio tavily \
    taxjar teamcity teamgate teamworkcrm teamworkdesk teamworkspaces technicalanalysis tefter telegraf \
    telegram teletype telnyx terraformcloudpersonal testingbot textmagic theodds thingsboard thinkific \
    thousandeyes thunderstore ticketmaster tickettailor tiingo timecamp tines tinkkeyset tmetric todoist \
    togetherai toggltrack tokeet tomorrowio tomtom tradier transferwise travelpayouts travis trello truenas \
    trufflehogenterprise twelvedata twilio twitch twitter tyntec typeform typetalk typo3 ubidots uclassify \
    unifyid unkey unplugg unsplash upcdatabase upcloud uplead uploadcare upstage upstash uptimerobot upwave \
    urlscan userstack vagrantcloud valtown vastai vatlayer vaultwarden vbout veracode vercel verimail \
    veriphone versioneye viewneo virustotal visualcrossing vmware voiceflow voicegain vonage voodoosms \
    vouchery voyageai vpnapi vultr vyte wakatime walkscore wandb wasabi weatherbit weatherstack weaviate \
    web3storage webex webflow webscraper websitepulse weightsandbiases wepay whitesource whoxy wistia \
    woocommerce woodpecker wordpress workato workos worksnaps workstack worldcoinindex worldpay worldweather \
    wpengine wrike xero yandex yelp youneedabudget yousign youtrack youtube zapier zendesk zenkit zenrows \
    zenscrape zenserp zeplin zerobounce zerotier zhipu zipapi zipbooks zipcodeapi zipcodebase zoho zohocrm \
    zonkafeedback zoominfo zulip zuora zuplo \
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_known_by_their_names_and_what_begins_with_them() {
        for name in ["mailchimp", "datadogapi", "openweathermap", "coze"] {
            assert!(is_named(name), "{name}");
        }
        for word in ["docker", "commit", "key", "coz", "cozette", "", "user"] {
            assert!(!is_named(word), "{word}");
        }
    }
}
