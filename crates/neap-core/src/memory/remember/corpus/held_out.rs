//! A second pair of lists, written before the rules and kept from them.

const GARDEN: &[&str] = &["The allotment is shared by four families.", "We keep bees behind the barn."];
const GARDEN_FACTS: &[&str] = &[
    "Watering is done before eight.",
    "Compost is turned every six weeks.",
    "The honey yield was 31 kg.",
    "Varroa losses dropped by 18%.",
    "Seed costs dropped by 5%.",
    "The hose is 25 m long.",
    "The shed key hangs by the stove.",
    "Visitors come on open days.",
    "Two hives face south.",
    "The yearly fee is 70 pounds.",
];
const HOSPITAL: &[(&str, &str, &str)] = &[
    ("ward 1", "18 beds", "Sister Agnes"),
    ("ward 2", "24 beds", "Sister Bridget"),
    ("ward 3", "12 beds", "Nurse Colm"),
    ("ward 4", "30 beds", "Nurse Dervla"),
    ("ward 5", "16 beds", "Nurse Eoin"),
    ("ward 6", "22 beds", "Sister Fionn"),
];
const HOSPITAL_TEMPLATES: &[&str] = &[
    "{s} has {v}",
    "{s} is run by {w}",
    "the night shift on {s} starts at 22:00",
    "visiting hours on {s} end at 19:30",
    "{s} was repainted in 2020",
    "the linen for {s} is changed daily",
];
const LINES: &str = "\
tram 4 stops at the opera
tram 7 stops at the stadium
tram 4 runs until midnight
tram 7 runs until one
the ferry carries 60 cars
the ferry carries 400 passengers
the ferry needs 35 minutes to the island
the water taxi needs 15 minutes to the island
seniors travel free after nine
seniors pay on the night bus
bicycles cost 3 euros extra
bicycles are not taken on Sundays
folding bicycles are always taken
the ticket office closes at six
the ticket machine takes coins
the kiosk next to the ticket machine takes cards
the thesis has 180 pages
the appendix has 44 pages
the thesis is due in September
the grant report is due in October
Prof. Lindqvist supervises the thesis
Prof. Amadi examines the thesis
the lab owns two microscopes
the lab borrows a centrifuge
sample 12 was stored at -80 degrees
sample 13 was stored at -20 degrees
sample 12 came from the river
sample 13 came from the well
the p-value of the first trial was 0.03
the p-value of the second trial was 0.2
accuracy improved by 6 points with augmentation
accuracy improved by 2 points with dropout
training took 11 hours on one card
training took 3 hours on four cards
the baseline scores 71.2
the distilled model scores 70.4
the tokenizer has 32,000 entries
the vocabulary file is 480 kB
batches have 64 examples
warm-up lasts 500 steps
the learning rate is 0.001
the weight decay is 0.01
checkpoints are written every 1,000 steps
evaluation runs every 5,000 steps
Olga paints in oil
Olga paints on wood
Olga sold a landscape for 900 francs
Olga sold a portrait for 1,400 francs
the gallery takes 40 percent
the framer takes two weeks
the vernissage begins at seven
the speech begins at half past seven
I never eat breakfast on weekdays
I eat a big breakfast on weekends
I take the stairs at work
I take the lift at home
my left shoulder hurts in the cold
my right ankle hurts after football
my phone plan has 20 GB
my tablet plan has 5 GB
my inbox has 4,000 unread mails
my desk faces the window
my monitor is 27 inches wide
my keyboard has a German layout
mum calls on Sundays
dad calls when the match is over
the hen house has 9 hens
the hen house has an automatic door
eggs are collected at ten
the fox came twice in March
the vet came once in April
the tractor needs 12 litres an hour
the baler needs two people
hay is cut in June
straw is stored in the upper barn
the stream floods in November
the dam was raised by 40 cm
the sluice was widened by 15 cm
the choir sings Bach in spring
the choir sings Verdi in autumn
the altos rehearse on Monday
the basses rehearse on Friday
the organ has 2,100 pipes
the organ was tuned in 2017
the bell tower has three bells
the largest bell weighs 1.2 tonnes
the smallest bell weighs 300 kg
contract A runs for 12 months
contract B runs for 24 months
clause 4 covers late delivery
clause 7 covers defects
the fine for late delivery is 2% a week
the cap on fines is 10%
witness one saw a red van
witness two saw a white van
the hearing lasted 40 minutes
the appeal lasted three hours
judge Moreau presides on weekdays
the archive opens at ten
the reading room opens at eleven
scans cost 20 cents a page
prints cost 15 cents a page
the east wing was built by the Hallers
the west wing was built by the city
the crypt may not be photographed
the nave may be photographed without flash
our API rejects bodies over 2 MB
our API rejects more than 50 keys per call
the importer skips empty rows
the importer skips comment lines
the exporter writes UTF-8
the exporter writes a header row
GET calls are cached for 60 seconds
HEAD calls are not cached
the free tier has 3 seats
the team tier has 25 seats
the free tier keeps 7 days of history
the team tier keeps 365 days of history
alerts go to the on-call phone
digests go to the ops mailbox
Sana wrote the parser tests
Sana reviewed the scheduler
Teo wrote the scheduler
Teo broke the nightly build in February
the regression came from commit 4fd1
the fix came with commit 9be0
we use Grafana for graphs
we use Loki for logs
we use Slack with customers
we use Signal in the family
the red bin is emptied on Monday
the green bin is emptied on Tuesday
glass is collected every four weeks
paper is collected every two weeks";

const CHANGED: &[(&str, &str)] = &[
    ("the ferry leaves from pier 3", "the ferry leaves from pier 5 now"),
    ("the ferry carries 60 cars", "the ferry carries 75 cars since the refit"),
    ("the thesis is due in September", "the thesis is due in December"),
    ("the thesis is due in September", "the deadline for the thesis was moved to December"),
    ("Prof. Lindqvist supervises my thesis", "Prof. Lindqvist no longer supervises my thesis"),
    ("my supervisor is Prof. Lindqvist", "my supervisor is Prof. Amadi"),
    ("my supervisor is Prof. Lindqvist", "Prof. Amadi is my new supervisor"),
    ("the learning rate is 0.001", "the learning rate is 0.0005"),
    ("the learning rate is 0.001", "we lowered the learning rate to 0.0005"),
    ("the batch size is 64", "we doubled the batch size to 128"),
    ("the batch size is 64", "batch size: 128"),
    ("the vernissage begins at seven", "the vernissage begins at eight"),
    ("the gallery takes 40 percent", "the gallery takes 45 percent now"),
    ("my phone plan has 20 GB", "my phone plan has 50 GB now"),
    ("my phone plan has 20 GB", "my phone plan was upgraded to 50 GB"),
    ("the hen house has 9 hens", "the hen house has 7 hens"),
    ("eggs are collected at ten", "eggs are collected at nine from now on"),
    ("the organ is out of tune", "the organ is no longer out of tune"),
    ("the choir rehearses on Monday", "the choir rehearses on Tuesday"),
    ("the choir rehearsal is on Monday", "the choir rehearsal was shifted to Tuesday"),
    ("contract A runs for 12 months", "contract A runs for 18 months"),
    ("the fine is 2% a week", "the fine is 3% a week"),
    ("the hearing is on 4 July", "the hearing has been postponed to 18 July"),
    ("the hearing is on 4 July", "the hearing is adjourned to 18 July"),
    ("the archive opens at ten", "the archive now opens at eleven"),
    ("photography is allowed in the crypt", "photography is not allowed in the crypt"),
    ("photography is allowed in the crypt", "photography is prohibited in the crypt"),
    ("GET calls are cached for 60 seconds", "GET calls are cached for 5 minutes"),
    ("GET calls are cached", "GET calls are no longer cached"),
    ("the free tier has 3 seats", "the free tier has 5 seats"),
    ("alerts go to the ops mailbox", "alerts no longer go to the ops mailbox"),
    ("the on-call engineer is Sana", "the on-call engineer is Teo this quarter"),
    ("Sana is on call", "Sana is not on call any more"),
    ("we use Grafana for graphs", "we dropped Grafana"),
    ("we use Grafana for graphs", "we moved from Grafana to Kibana"),
    ("we use Grafana for graphs", "Kibana replaced Grafana for graphs"),
    ("the red bin is emptied on Monday", "the red bin is emptied on Wednesday"),
    ("the app is called Pebble", "the app has been renamed Boulder"),
    ("the app is called Pebble", "Pebble is called Boulder now"),
    ("our cat is called Minka", "our cat is named Luna"),
    ("Olga lives in Basel", "Olga has moved to Geneva"),
    ("Olga lives in Basel", "Olga used to live in Basel"),
    ("Olga is based in Basel", "Olga is based in Geneva"),
    ("Olga works for the gallery", "Olga doesn't work for the gallery anymore"),
    ("Olga works for the gallery", "Olga joined the museum"),
    ("Teo reports to Sana", "Teo reports to Viktor now"),
    ("Teo reports to Sana", "Teo no longer reports to Sana"),
    ("Teo is engaged to Mira", "Teo is married to Mira"),
    ("I take sugar in my tea", "I don't take sugar in my tea"),
    ("I take sugar in my tea", "I no longer take sugar in my tea"),
    ("I enjoy crowded beaches", "I can't stand crowded beaches"),
    ("I like sci-fi", "I don't like sci-fi any more"),
    ("I prefer window seats", "I prefer aisle seats"),
    ("I prefer short answers", "I prefer long answers"),
    ("I'm learning Dutch", "I gave up learning Dutch"),
    ("I own a car", "I no longer own a car"),
    ("my favourite band is Lumen", "my favourite band is now Orrery"),
    ("my shoe size is 42", "my shoe size is 43"),
    ("my weight is 82 kg", "my weight is 79 kg"),
    ("my gym is Ironworks", "my gym is Tidewater now"),
    ("the stream is polluted", "the stream is clean again"),
    ("the road is closed", "the road has reopened"),
    ("the printer works", "the printer does not work"),
    ("the lift is out of order", "the lift is no longer out of order"),
    ("the default language is English", "the default language is French"),
    ("the default language is English", "default language: French"),
    ("the invoice currency is dollars", "the invoice currency is euros"),
    ("the quota is 50 GB", "the quota was increased from 50 GB to 80 GB"),
    ("the quota is 50 GB", "the quota has been cut to 20 GB"),
    ("the replication factor is 2", "the replication factor is now 3"),
    ("the index has 4 shards", "the index has 8 shards"),
    ("the primary region is Dublin", "the primary region is Paris"),
    ("the primary region is Dublin", "we moved the primary region to Paris"),
    ("the toll is 4 euros", "the toll rose to 5 euros"),
    ("entry costs 12 francs", "entry costs 14 francs"),
    ("the fee is 70 pounds a year", "the fee went from 70 pounds to 80 pounds a year"),
    ("the chair is Mrs. Holt", "Mrs. Holt stepped down as chair"),
    ("the chair of the club is Mrs. Holt", "the chair of the club is Mr. Dune"),
    ("the secretary of the club is Ms. Reed", "the new secretary of the club is Mr. Ash"),
    ("the house is for sale", "the house is no longer for sale"),
    ("the shop accepts cards", "the shop does not accept cards"),
    ("the shop accepts cards", "the shop no longer accepts cards"),
    ("the museum is free", "the museum is not free anymore"),
    ("the build takes 12 minutes", "the build takes 7 minutes now"),
    ("the build takes 12 minutes", "the build only takes 7 minutes now"),
    ("retries are limited to 3", "retries are limited to 5"),
    ("tokens expire after an hour", "tokens no longer expire after an hour"),
    ("the token lifetime is 60 minutes", "the token lifetime is 15 minutes"),
    ("the warehouse is in Lille", "the warehouse has moved to Metz"),
    ("the van is parked in the yard", "the van is parked in the street"),
    ("the wedding is in June", "the wedding is in August"),
    ("the wedding is in June", "they moved the wedding to August"),
    ("the wedding is in June", "the wedding is off"),
    ("bin day is Tuesday", "bin day is Thursday"),
    ("pottery is on Tuesday evenings", "pottery is on Thursday evenings"),
    ("the guest list has 80 names", "the guest list has 95 names"),
    ("the caterer is Bonnard", "the caterer is Soleil"),
    ("the caterer is Bonnard", "we hired Soleil as caterer instead of Bonnard"),
    ("the spec is a draft", "the spec is final"),
    ("the spec is at version 3", "the spec is at version 4"),
];

pub(super) fn distinct() -> Vec<String> {
    let mut out = Vec::new();
    for shared in GARDEN {
        out.extend(GARDEN_FACTS.iter().map(|fact| format!("{shared} {fact}")));
    }
    for template in HOSPITAL_TEMPLATES {
        let put = |(s, v, w): &(&str, &str, &str)| template.replace("{s}", s).replace("{v}", v).replace("{w}", w);
        out.extend(HOSPITAL.iter().map(put));
    }
    out.extend(LINES.lines().map(str::to_owned));
    out
}

pub(super) fn changes() -> Vec<(String, String)> {
    CHANGED.iter().map(|(old, new)| ((*old).to_owned(), (*new).to_owned())).collect()
}
