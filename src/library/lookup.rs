//! Lookups of many positions in several sources, in bounded memory. Answers come in the order of
//! the questions.
//!
//! ```
//! use epdb_library::lookup::{Answer, AnswerForm, BatchLookup, LookupOptions, QuestionBatch};
//! use epdb_source::{Collection, Source, SourceOptions};
//! use epdb_store::{ImportOptions, Store, StoreOptions};
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("book.epdb");
//! # let store = Store::create(&path, &StoreOptions::default())?;
//! # let mut import = store.importer("by hand", &ImportOptions::default())?;
//! # import.push(&epdb_chess::parse_epd(b"8/8/8/4k3/8/1K6/8/8 b - - id \"store\";")?)?;
//! # import.finish()?;
//! # store.close()?;
//! let book = Collection::open(&path, 64 << 20)?;
//! let text = "8/8/8/4k3/8/1K6/8/8 b - - id \"text\";\n";
//!
//! let mut questions = QuestionBatch::new();
//! for (number, line) in (1..).zip([&b"4k3/8/8/8/8/8/8/4K3 w - -"[..], b"8/8/8/4k3/8/1K6/8/8 b - -"]) {
//!     questions.push(number, line, epdb_chess::parse_epd(line)?.position().into());
//! }
//! let options = LookupOptions { form: AnswerForm::Text, ..Default::default() };
//! let mut batch = BatchLookup::new(questions.queries(), options);
//! batch.search(&book, book.name(), None)?;
//! let source = Source::from_bytes("more.epd", text, &SourceOptions::default())?;
//! batch.scan(|take| source.records().try_for_each(|record| take(&record?)))?;
//!
//! let mut lines = Vec::new();
//! let found_all = batch.answer(|place, answer| {
//!     let number = questions.number(place);
//!     lines.push(match answer {
//!         Answer::Text(text) => format!("{number}: {}", String::from_utf8_lossy(text)),
//!         Answer::Record(record) => format!("{number}: {} operations", record.operations().len()),
//!         Answer::Missing => format!("{number}: nothing"),
//!         Answer::Unknown(damage) => format!("{number}: cannot say: {damage}"),
//!     });
//!     Ok::<(), epdb_chess::Error>(())
//! })?;
//! assert!(!found_all);
//! assert_eq!(lines, [
//!     "1: nothing",
//!     "2: 8/8/8/4k3/8/1K6/8/8 b - - id \"store\";",
//!     "2: 8/8/8/4k3/8/1K6/8/8 b - - id \"text\";",
//! ]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::ops::ControlFlow;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use epdb_chess::codec::packed::{self, PackedBoard};
use epdb_chess::codec::query::{Query, SkipTo};
use epdb_chess::codec::record;
use epdb_chess::error::{At, Error, ErrorKind, Place, Result};
use epdb_chess::model::EpdRecord;
use epdb_chess::text::FormatOptions;
use epdb_chess::text::epd;
use epdb_source::{Filter, Lookup, Match, repeat_if_replaced, visit_on_threads};

/// Memory of a waiting question besides its text and its answer, in bytes.
const QUESTION_MEMORY: usize = 512;

/// Questions that are answered together.
#[derive(Clone, Debug, Default)]
pub struct QuestionBatch {
    queries: Vec<Query>,
    numbers: Vec<u64>,
    /// The texts of the questions, concatenated.
    text: Vec<u8>,
    /// End of each text.
    ends: Vec<usize>,
}

impl QuestionBatch {
    /// An empty batch.
    pub fn new() -> QuestionBatch {
        QuestionBatch::default()
    }

    /// Adds a question with its number and its text.
    pub fn push(&mut self, number: u64, text: &[u8], query: Query) {
        self.queries.push(query);
        self.numbers.push(number);
        self.text.extend_from_slice(text);
        self.ends.push(self.text.len());
    }

    /// Removes all questions.
    pub fn clear(&mut self) {
        self.queries.clear();
        self.numbers.clear();
        self.text.clear();
        self.ends.clear();
    }

    /// Whether the batch is empty.
    pub const fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// The queries, in order.
    pub fn queries(&self) -> &[Query] {
        &self.queries
    }

    /// The number of the question at an index; 0 if there is none.
    pub fn number(&self, place: usize) -> u64 {
        self.numbers.get(place).copied().unwrap_or_default()
    }

    /// The text of the question at an index; empty if there is none.
    pub fn text(&self, place: usize) -> &[u8] {
        let Some(&end) = self.ends.get(place) else { return &[] };
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        self.text.get(start..end).unwrap_or_default()
    }

    /// Approximate memory, in bytes.
    pub const fn memory_used(&self) -> usize {
        self.queries.len() * QUESTION_MEMORY + self.text.len()
    }
}

/// Options of answers. The default is all records, decoded, with 64 MiB for each source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LookupOptions {
    /// The form of answers.
    pub form: AnswerForm,
    /// True if only one record of each position is returned: the first record in the first source that has
    /// the position.
    pub only_first: bool,
    /// Memory for the answers of a source, in bytes. Answers that do not fit are looked up again
    /// when they are needed.
    pub memory_bytes: usize,
}

/// The form of records in answers.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum AnswerForm {
    /// Only whether there are records, but not the records.
    Presence,
    /// Canonical text, usually without decoding.
    Text,
    /// Decoded records.
    #[default]
    Record,
}

impl AnswerForm {
    fn write_match(self, found: &Match, out: &mut Vec<u8>) -> Result<()> {
        match self {
            AnswerForm::Presence => Ok(()),
            AnswerForm::Text => found.write_text(out),
            AnswerForm::Record => found.encode(out),
        }
    }

    fn write_record(self, record: &EpdRecord, out: &mut Vec<u8>) -> Result<()> {
        match self {
            AnswerForm::Presence => {}
            AnswerForm::Text => {
                epd::format(record, &FormatOptions::default(), out);
            }
            AnswerForm::Record => record::encode(record, out)?,
        }
        Ok(())
    }
}

impl Default for LookupOptions {
    fn default() -> LookupOptions {
        LookupOptions { form: AnswerForm::default(), only_first: false, memory_bytes: 64 << 20 }
    }
}

/// The answer to a question, or one of its records.
#[derive(Copy, Clone, Debug)]
pub enum Answer<'a> {
    /// No source has the position.
    Missing,
    /// A damaged part of a source may have records of the position, or more records than the answers
    /// before. The error names the part.
    Unknown(&'a Error),
    /// The canonical text of a record, without a line end.
    Text(&'a [u8]),
    /// A record.
    Record(&'a EpdRecord),
}

/// Looks up a batch of questions in one source after the other, and answers them in order; see the
/// example [above](self).
///
/// Stores and archives are [searched](BatchLookup::search). Any other source is read once, and each
/// of its records is [compared](BatchLookup::scan) with all questions.
pub struct BatchLookup<'s> {
    queries: &'s [Query],
    options: LookupOptions,
    sources: Vec<SourceAnswers<'s>>,
}

impl fmt::Debug for BatchLookup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BatchLookup { queries, options, .. } = self;
        let mut debug = f.debug_struct("BatchLookup");
        debug.field("queries", queries).field("options", options).finish_non_exhaustive()
    }
}

impl<'s> BatchLookup<'s> {
    /// A lookup without sources.
    pub const fn new(queries: &'s [Query], options: LookupOptions) -> BatchLookup<'s> {
        BatchLookup { queries, options, sources: Vec::new() }
    }

    /// Looks up all questions in a store or an archive, and keeps the records that pass the filter.
    /// `name` is the name of the source in the places of these records. If the manifest of a sharded
    /// archive is replaced meanwhile, all questions are looked up again in the new shards. If the
    /// source is damaged, the questions that need a damaged part get [`Answer::Unknown`].
    ///
    /// # Errors
    /// Errors of the source, except damage.
    pub fn search(
        &mut self,
        source: &'s dyn Lookup,
        name: &Arc<str>,
        filter: Option<&'s dyn Filter>,
    ) -> Result<()> {
        let searched = Searched { lookup: source, name: Arc::clone(name), filter };
        let together = repeat_if_replaced(source, || {
            let mut answers = SourceAnswers::new(self.queries.len(), &self.options);
            answers.budget = self.options.memory_bytes;
            let places: Vec<usize> = (0..self.queries.len()).collect();
            searched.get_batch(self.queries, &places, &mut answers)?;
            Ok(answers)
        });
        let mut answers = match together {
            Err(error) if error.kind() == ErrorKind::InvalidData => self.search_apart(&searched)?,
            answers => answers?,
        };
        answers.searched = Some(searched);
        self.push(answers);
        Ok(())
    }

    /// Looks up the questions in one part of a damaged source after the other. So damage affects only the
    /// questions that need the damaged part.
    fn search_apart(&self, searched: &Searched<'s>) -> Result<SourceAnswers<'s>> {
        let mut answers = SourceAnswers::new(self.queries.len(), &self.options);
        answers.budget = self.options.memory_bytes;
        let parts = self.queries.iter().map(|query| searched.lookup.part_of(query));
        let parts: Vec<usize> = parts.collect();
        let mut places: Vec<usize> = (0..self.queries.len()).collect();
        places.sort_by_key(|place| (parts[*place], self.queries[*place].key()));
        for places in places.chunk_by(|one, next| parts[*one] == parts[*next]) {
            match searched.lookup.open_part(parts[places[0]]) {
                Err(error) if error.kind() == ErrorKind::InvalidData => {
                    let damage = Arc::new(error.in_source(Arc::clone(&searched.name)));
                    let damaged = places.iter().map(|place| (*place, Arc::clone(&damage)));
                    answers.damaged.extend(damaged);
                }
                Err(error) => return Err(error),
                Ok(()) => self.search_halves(searched, places, &mut answers)?,
            }
        }
        Ok(answers)
    }

    /// Looks up questions together, and again by halves if some of them meet damage.
    fn search_halves(
        &self,
        searched: &Searched<'s>,
        places: &[usize],
        answers: &mut SourceAnswers<'s>,
    ) -> Result<()> {
        let queries: Vec<Query> = places.iter().map(|place| self.queries[*place]).collect();
        let before = answers.state();
        let error = match searched.get_batch(&queries, places, answers) {
            Err(error) if error.kind() == ErrorKind::InvalidData => error,
            searched => return searched,
        };
        let meets_each = searched.lookup.reads_all() && !self.options.only_first;
        if places.len() == 1 || meets_each {
            // Records that were found stay.
            let damage = Arc::new(error.in_source(Arc::clone(&searched.name)));
            let is_present = |place| answers.form == AnswerForm::Presence && answers.has[place];
            let open = places.iter().filter(|place| places.len() == 1 || !is_present(**place));
            answers.damaged.extend(open.map(|place| (*place, Arc::clone(&damage))));
            return Ok(());
        }
        answers.reset(before, places);
        let (first, second) = places.split_at(places.len() / 2);
        self.search_halves(searched, first, answers)?;
        self.search_halves(searched, second, answers)
    }

    /// Reads a source: `read` calls its argument with each record.
    ///
    /// # Errors
    /// `read` fails, or a record cannot be encoded.
    pub fn scan<E>(
        &mut self,
        read: impl FnOnce(&mut dyn FnMut(&EpdRecord) -> Result<()>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut by_board: HashMap<PackedBoard, Vec<usize>> = HashMap::new();
        for (place, query) in self.queries.iter().enumerate() {
            by_board.entry(*query.board()).or_default().push(place);
        }
        let mut answers = SourceAnswers::new(self.queries.len(), &self.options);
        let mut number = 0;
        read(&mut |record| {
            let places = by_board.get(&packed::encode(&record.position().identity()));
            for &place in places.into_iter().flatten() {
                if answers.wants(place) {
                    let mut bytes = Vec::new();
                    answers.form.write_record(record, &mut bytes)?;
                    answers.put(place, number, &bytes);
                }
            }
            number += 1;
            Ok(())
        })?;
        self.push(answers);
        Ok(())
    }

    fn push(&mut self, mut answers: SourceAnswers<'s>) {
        answers.sort();
        self.sources.push(answers);
    }

    /// Calls `visit` with the index of each question and its answers: in the order of the
    /// questions, and for each question in the order of the sources. Returns whether each question
    /// had a record.
    ///
    /// # Errors
    /// Errors of the sources and of `visit`.
    pub fn answer<E: From<Error>>(
        mut self,
        mut visit: impl FnMut(usize, Answer<'_>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let mut found_all = true;
        for place in 0..self.queries.len() {
            let has = |answers: &SourceAnswers| {
                answers.has[place] || answers.damaged.contains_key(&place)
            };
            if !self.sources.iter().any(has) {
                found_all = false;
                visit(place, Answer::Missing)?;
                continue;
            }
            for answers in &mut self.sources {
                answers.give(place, self.queries, &mut visit)?;
                if let Some(damage) = answers.damaged.get(&place) {
                    found_all = false;
                    visit(place, Answer::Unknown(damage))?;
                }
                if self.options.only_first && answers.has[place] {
                    break;
                }
            }
        }
        Ok(found_all)
    }
}

#[derive(Clone)]
struct Searched<'s> {
    lookup: &'s dyn Lookup,
    name: Arc<str>,
    filter: Option<&'s dyn Filter>,
}

impl Searched<'_> {
    /// Looks up questions, and keeps their records. `places` has the place of each question among all. If one
    /// record is enough, the records come in order; otherwise all threads make answers of them.
    fn get_batch(
        &self,
        queries: &[Query],
        places: &[usize],
        answers: &mut SourceAnswers<'_>,
    ) -> Result<()> {
        let form = answers.form;
        if answers.one_is_enough() {
            return self.lookup.get_batch(queries, &mut |nth, found| {
                if answers.wants(places[nth])
                    && let Some(bytes) = self.answer(&found, form)?
                {
                    answers.put(places[nth], found.number(), &bytes);
                }
                Ok(if answers.wants(places[nth]) {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(SkipTo::NextQuery)
                })
            });
        }
        let answers = Mutex::new(answers);
        let answers = || answers.lock().unwrap_or_else(PoisonError::into_inner);
        visit_on_threads(self.lookup, queries, &|nth, found| {
            let is_wanted = answers().wants(places[nth]);
            if is_wanted && let Some(bytes) = self.answer(&found, form)? {
                answers().put(places[nth], found.number(), &bytes);
            }
            Ok(())
        })
    }

    /// A record as an answer; `None` if the filter excludes it.
    fn answer(&self, found: &Match, form: AnswerForm) -> Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        match self.filter {
            None => form.write_match(found, &mut bytes)?,
            Some(filter) => {
                let record = found.record()?;
                if !self.takes(filter, found.number(), &record) {
                    return Ok(None);
                }
                form.write_record(&record, &mut bytes)?;
            }
        }
        Ok(Some(bytes))
    }

    fn takes(&self, filter: &dyn Filter, number: u64, record: &EpdRecord) -> bool {
        let place = Place::new(Arc::clone(&self.name), At::Record(number + 1));
        filter.takes(record, None, &place)
    }

    /// Calls `visit` with all records of a position that pass the filter.
    fn each_record<E: From<Error>>(
        &self,
        query: &Query,
        visit: &mut impl FnMut(Answer<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut matches = self.lookup.matches(query);
        while let Some(found) = matches.next_match() {
            let found = found?;
            let record = found.record()?;
            if self.filter.is_none_or(|filter| self.takes(filter, found.number(), &record)) {
                visit(Answer::Record(&record))?;
            }
        }
        Ok(())
    }
}

struct SourceAnswers<'s> {
    /// The source, if it can be searched again.
    searched: Option<Searched<'s>>,
    form: AnswerForm,
    only_first: bool,
    /// Whether each question has a record.
    has: Vec<bool>,
    /// The answers, concatenated. For each answer, `records` has the question, the number of the record in the
    /// source, and the range.
    bytes: Vec<u8>,
    records: Vec<(usize, u64, Range<usize>)>,
    /// Number of answers that were returned.
    given: usize,
    /// Maximum number of bytes of answers.
    budget: usize,
    /// The questions that were looked up last: at first all.
    asked: Range<usize>,
    /// The questions whose records did not fit. They are looked up again.
    overflowing: BTreeSet<usize>,
    /// The damage that each question met.
    damaged: BTreeMap<usize, Arc<Error>>,
}

impl<'s> SourceAnswers<'s> {
    fn new(questions: usize, options: &LookupOptions) -> SourceAnswers<'s> {
        SourceAnswers {
            searched: None,
            form: options.form,
            only_first: options.only_first,
            has: vec![false; questions],
            bytes: Vec::new(),
            records: Vec::new(),
            given: 0,
            budget: usize::MAX,
            asked: 0..questions,
            overflowing: BTreeSet::new(),
            damaged: BTreeMap::new(),
        }
    }

    /// The number of answers, and of their bytes.
    const fn state(&self) -> (usize, usize) {
        (self.records.len(), self.bytes.len())
    }

    /// Goes back to an earlier [`SourceAnswers::state`]. All answers since then are answers to the questions at
    /// `places`.
    fn reset(&mut self, (records, bytes): (usize, usize), places: &[usize]) {
        self.records.truncate(records);
        self.bytes.truncate(bytes);
        for place in places {
            self.has[*place] = false;
            self.overflowing.remove(place);
        }
    }

    /// Whether another record of this question is wanted.
    fn wants(&self, place: usize) -> bool {
        !(self.has[place] && self.one_is_enough() || self.overflows(place))
    }

    /// Whether a question needs one record only.
    fn one_is_enough(&self) -> bool {
        self.only_first || self.form == AnswerForm::Presence
    }

    fn overflows(&self, place: usize) -> bool {
        place >= self.asked.end || !self.overflowing.is_empty() && self.overflowing.contains(&place)
    }

    /// Looks up questions again, from a place on: as many as fit, but at least one.
    fn look_up_again(
        &mut self,
        searched: &Searched<'_>,
        place: usize,
        queries: &[Query],
    ) -> Result<()> {
        let mut len = self.asked.len();
        if self.bytes.len() < self.budget / 2 {
            len *= 2;
        }
        loop {
            if !self.overflowing.is_empty() {
                len /= 2;
            }
            self.asked = place..queries.len().min(place + len.max(1));
            self.given = 0;
            self.records.clear();
            self.bytes.clear();
            self.overflowing.clear();
            let places: Vec<usize> = self.asked.clone().collect();
            searched.get_batch(&queries[self.asked.clone()], &places, self)?;
            if self.overflowing.is_empty() || self.asked.len() == 1 {
                self.sort();
                return Ok(());
            }
        }
    }

    /// Keeps a record as an answer to a question.
    fn put(&mut self, place: usize, number: u64, answer: &[u8]) {
        self.has[place] = true;
        if self.form == AnswerForm::Presence {
            return;
        }
        if self.bytes.len() > self.budget && !self.only_first {
            self.overflowing.insert(place);
            return;
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(answer);
        self.records.push((place, number, start..self.bytes.len()));
    }

    /// Sorts the answers by their questions, and those of a question by the numbers of the records.
    fn sort(&mut self) {
        self.records.sort_unstable_by_key(|(place, number, _)| (*place, *number));
    }

    /// Passes the records of a question to `visit`. The questions must come in order.
    fn give<E: From<Error>>(
        &mut self,
        place: usize,
        queries: &[Query],
        visit: &mut impl FnMut(usize, Answer<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.overflows(place)
            && let Some(searched) = self.searched.clone()
        {
            if self.damaged.is_empty() && queries.len() > 1 {
                self.look_up_again(&searched, place, queries)?;
            }
            if self.overflows(place) {
                return searched.each_record(&queries[place], &mut |answer| visit(place, answer));
            }
        }
        while self.records.get(self.given).is_some_and(|(of, ..)| *of < place) {
            self.given += 1;
        }
        while let Some((of, _, range)) = self.records.get(self.given)
            && *of == place
        {
            self.given += 1;
            let bytes = self.bytes.get(range.clone()).unwrap_or_default();
            match self.form {
                AnswerForm::Text => visit(place, Answer::Text(bytes))?,
                _ => {
                    let (record, _) = record::decode(bytes).map_err(Error::from)?;
                    visit(place, Answer::Record(&record))?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::expression::Expression;
    use epdb_store::{ImportOptions, Store, StoreOptions};

    const LINES: [&str; 5] = [
        "8/8/8/4k3/8/1K6/8/8 b - - id \"1\";",
        "8/8/8/4k3/8/1K6/8/8 w - - id \"2\";",
        "8/8/8/4k3/8/1K6/8/8 b - - id \"3\";",
        "8/8/8/4k3/8/1K6/8/8 b - - id \"4\";",
        "8/8/8/4k3/8/1K6/8/8 w - - id \"5\";",
    ];

    fn record(line: &str) -> EpdRecord {
        epdb_chess::parse_epd(line.as_bytes()).unwrap()
    }

    /// The questions: white to move, another position, black to move.
    fn questions() -> QuestionBatch {
        let mut questions = QuestionBatch::new();
        for (number, line) in (1..).zip([LINES[1], "k7/8/8/8/8/8/8/7K w - -", LINES[0]]) {
            questions.push(number, line.as_bytes(), record(line).position().into());
        }
        questions
    }

    /// The answers from a store with all lines, and from a source with the last line. Each answer is the
    /// number of a question and the `id` of a record, or 0 without a record. The bool is true if every
    /// question has a record.
    fn answers(options: LookupOptions, filter: Option<&str>) -> (Vec<(u64, String)>, bool) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(folder.path().join("a.epdb"), &StoreOptions::default()).unwrap();
        let mut import = store.importer("lines", &ImportOptions::default()).unwrap();
        LINES.iter().for_each(|line| import.push(&record(line)).unwrap());
        import.finish().unwrap();
        let reader = store.reader().unwrap();
        let filter = filter.map(|filter| Expression::parse(filter).unwrap());
        let filter = filter.as_ref().map(|filter| filter as &dyn Filter);
        let questions = questions();
        let mut batch = BatchLookup::new(questions.queries(), options);
        batch.search(&reader, &"a.epdb".into(), filter).unwrap();
        batch.scan(|take| take(&record(LINES[4]))).unwrap();
        let mut given = Vec::new();
        let mut give = |place: usize, answer: Answer<'_>| {
            let text = match answer {
                Answer::Missing => "0".to_string(),
                Answer::Unknown(damage) => damage.to_string(),
                Answer::Text(text) => String::from_utf8_lossy(text).into_owned(),
                Answer::Record(record) => {
                    String::from_utf8_lossy(&epdb_chess::format_epd(record)).into_owned()
                }
            };
            let id = text.split('"').nth(1).unwrap_or("0").to_string();
            given.push((questions.number(place), id));
            Ok::<(), Error>(())
        };
        let found_all = batch.answer(&mut give).unwrap();
        (given, found_all)
    }

    fn numbered(answers: &[(u64, &str)]) -> Vec<(u64, String)> {
        answers.iter().map(|&(number, id)| (number, id.to_string())).collect()
    }

    /// Answers come in the order of questions, then sources, then record numbers, in every form and
    /// with any amount of memory.
    #[test]
    fn answers_come_in_order_within_any_budget() {
        let all = [(1, "2"), (1, "5"), (1, "5"), (2, "0"), (3, "1"), (3, "3"), (3, "4")];
        let first = [(1, "2"), (2, "0"), (3, "1")];
        for form in [AnswerForm::Text, AnswerForm::Record] {
            for budget in [0, 1, 40, 1 << 20] {
                let options = LookupOptions { form, memory_bytes: budget, ..Default::default() };
                assert_eq!(answers(options.clone(), None), (numbered(&all), false), "{budget}");
                assert_eq!(
                    answers(LookupOptions { only_first: true, ..options }, None),
                    (numbered(&first), false)
                );
            }
        }
    }

    #[test]
    fn a_filter_leaves_records_of_searched_sources_out() {
        for budget in [0, 1 << 20] {
            let options = LookupOptions { memory_bytes: budget, ..Default::default() };
            let expected = [(1, "5"), (1, "5"), (2, "0"), (3, "4")];
            let (given, found_all) = answers(options, Some("id > \"3\""));
            assert_eq!((given, found_all), (numbered(&expected), false), "{budget}");
        }
    }

    /// A position with a pawn on one of 48 squares.
    fn pawn(nth: usize) -> EpdRecord {
        let mut ranks = vec!["8".to_string(); 6];
        ranks[nth / 8] = format!("{}P{}", nth % 8, 7 - nth % 8).replace('0', "");
        record(&format!("4k3/{}/4K3 w - - id \"{nth}\";", ranks.join("/")))
    }

    /// Only the records of a position that has more than fit into memory are looked up alone.
    #[test]
    fn questions_whose_answers_did_not_fit_are_looked_up_together() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(folder.path().join("a.epdb"), &StoreOptions::default()).unwrap();
        let mut import = store.importer("pawns", &ImportOptions::default()).unwrap();
        let count = |nth: usize| if nth == 20 { 100 } else { 2 };
        for nth in 0..48 {
            (0..count(nth)).for_each(|_| import.push(&pawn(nth)).unwrap());
        }
        import.finish().unwrap();
        let reader = store.reader().unwrap();
        let queries: Vec<Query> = (0..48).map(|nth| pawn(nth).position().into()).collect();
        let options =
            LookupOptions { form: AnswerForm::Text, memory_bytes: 500, ..Default::default() };
        let mut batch = BatchLookup::new(&queries, options);
        batch.search(&reader, &"a.epdb".into(), None).unwrap();
        let answers = &mut batch.sources[0];
        let mut alone = Vec::new();
        for place in 0..queries.len() {
            let mut given = 0;
            let mut give = |_, _: Answer<'_>| {
                given += 1;
                Ok::<(), Error>(())
            };
            answers.give(place, &queries, &mut give).unwrap();
            assert_eq!(given, count(place), "{place}");
            alone.extend(answers.overflows(place).then_some(place));
        }
        assert_eq!(alone, [20]);
    }

    #[test]
    fn presence_alone_gives_what_is_missing() {
        let options = LookupOptions { form: AnswerForm::Presence, ..Default::default() };
        assert_eq!(answers(options, None), (numbered(&[(2, "0")]), false));
    }
}
