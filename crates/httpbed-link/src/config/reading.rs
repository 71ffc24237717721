//! Reads JSON values and keeps every mistake with its place.
//!
//! A derived `Deserialize` stops at the first mistake. Here a wrong value is noted and replaced by a
//! placeholder, so that reading goes on; whoever reads looks at the [`Mistakes`] before using anything.

use std::cell::RefCell;
use std::fmt::Display;
use std::ops::RangeInclusive;

use serde_json::{Map, Value};

/// What is wrong, each in words that begin with the place.
#[derive(Debug, Default)]
pub struct Mistakes(RefCell<Vec<String>>);

impl Mistakes {
    /// The value if nothing was wrong, else all mistakes in one line.
    pub fn none_in<T>(self, value: T) -> Result<T, String> {
        let mistakes = self.0.into_inner();
        if mistakes.is_empty() { Ok(value) } else { Err(mistakes.join("; ")) }
    }

    fn add(&self, place: &str, reason: impl Display) {
        let place = if place.is_empty() { "the whole" } else { place };
        self.0.borrow_mut().push(format!("{place}: {reason}"));
    }
}

/// A value that may be there.
#[derive(Clone, Debug)]
pub struct Field<'a> {
    value: Option<&'a Value>,
    place: String,
    mistakes: &'a Mistakes,
}

/// The fields of an object.
pub struct Fields<'a> {
    map: Option<&'a Map<String, Value>>,
    place: String,
    mistakes: &'a Mistakes,
}

impl<'a> Field<'a> {
    /// A whole document.
    pub fn root(value: &'a Value, mistakes: &'a Mistakes) -> Self {
        Self { value: Some(value), place: String::new(), mistakes }
    }

    /// Itself, unless it is absent; `null` is absence.
    pub fn given(self) -> Option<Self> {
        self.value.is_some().then_some(self)
    }

    /// Notes that something is wrong with it.
    pub fn wrong(&self, reason: impl Display) {
        self.mistakes.add(&self.place, reason);
    }

    /// An object of which nothing is known but `known`.
    pub fn fields(&self, known: &[&str]) -> Fields<'a> {
        let fields = self.object();
        for unknown in
            fields.map.iter().flat_map(|map| map.keys()).filter(|name| !known.contains(&name.as_str()))
        {
            self.wrong(format_args!("{unknown:?} is not one of {}", known.join(", ")));
        }
        fields
    }

    /// The field `name` of an object, whatever else that has.
    pub fn get(&self, name: &str) -> Self {
        self.object().get(name)
    }

    /// All fields of an object that are there.
    pub fn given_fields(&self) -> Vec<Self> {
        let fields = self.object();
        let names = fields.map.iter().flat_map(|map| map.keys());
        names.filter_map(|name| fields.get(name).given()).collect()
    }

    fn object(&self) -> Fields<'a> {
        let map = self.expect("an object", Value::as_object);
        Fields { map, place: self.place.clone(), mistakes: self.mistakes }
    }

    /// The text in an object's field `name`, if it is one of `options`.
    pub fn choice(&self, name: &str, options: &[&str]) -> Option<&'a str> {
        let field = self.object().get(name);
        let text = field.expect("a text", Value::as_str)?;
        if !options.contains(&text) {
            field.wrong(format_args!("{text:?} is not one of {}", options.join(", ")));
            return None;
        }
        Some(text)
    }

    /// The elements of a list.
    pub fn items(&self) -> Vec<Self> {
        let list = self.expect("a list", Value::as_array).map_or(&[][..], Vec::as_slice);
        let item = |(number, value)| Self {
            value: Some(value),
            place: format!("{}[{number}]", self.place),
            mistakes: self.mistakes,
        };
        list.iter().enumerate().map(item).collect()
    }

    /// A list of two.
    pub fn pair(&self) -> [Self; 2] {
        let items = self.items();
        let count = items.len();
        items.try_into().unwrap_or_else(|_| {
            if self.value.is_some_and(Value::is_array) {
                self.wrong(format_args!("it has {count} elements instead of 2"));
            }
            // Quiet: what is absent in them has been said already.
            [0, 1].map(|number| Self {
                value: Some(&Value::Null),
                place: format!("{}[{number}]", self.place),
                mistakes: self.mistakes,
            })
        })
    }

    /// A text; never empty without a mistake.
    pub fn text(&self) -> &'a str {
        let text = self.expect("a text", Value::as_str);
        if text.is_some_and(str::is_empty) {
            self.wrong("it is empty");
        }
        text.unwrap_or_default()
    }

    /// True or false.
    pub fn flag(&self) -> bool {
        self.expect("true or false", Value::as_bool).unwrap_or_default()
    }

    /// A whole number within a range.
    pub fn whole(&self, range: RangeInclusive<u64>) -> u64 {
        let Some(number) = self.expect("a whole number of at least 0", Value::as_u64) else {
            return *range.start();
        };
        if range.contains(&number) {
            return number;
        }
        self.wrong(format_args!("{number} is not within {} to {}", range.start(), range.end()));
        *range.start()
    }

    /// A whole number, perhaps negative, at most `most` from 0.
    pub fn signed(&self, most: i64) -> i64 {
        let Some(number) = self.expect("a whole number", Value::as_i64) else { return 0 };
        if !(-most..=most).contains(&number) {
            self.wrong(format_args!("{number} is not within -{most} to {most}"));
        }
        number
    }

    /// A probability.
    pub fn probability(&self) -> f64 {
        let Some(number) = self.expect("a number", Value::as_f64) else { return 0.0 };
        if !(0.0..=1.0).contains(&number) {
            self.wrong(format_args!("{number} is not within 0 to 1"));
        }
        number
    }

    /// The key of a random stream: a decimal text, because JSON numbers of other programs are not 64 bits wide.
    pub fn key(&self) -> u64 {
        let Some(text) = self.expect("a text", Value::as_str) else { return 0 };
        text.parse().unwrap_or_else(|_| {
            self.wrong(format_args!("{text:?} is not the decimal form of a 64-bit number"));
            0
        })
    }

    fn expect<T>(&self, what: &str, read: impl Fn(&'a Value) -> Option<T>) -> Option<T> {
        let Some(value) = self.value else {
            self.wrong(format_args!("it is missing, {what} is wanted"));
            return None;
        };
        let read = read(value);
        // A null inside a list stands for what was reported there.
        if read.is_none() && !value.is_null() {
            self.wrong(format_args!("{} is not {what}", shortened(value)));
        }
        read
    }
}

impl<'a> Fields<'a> {
    /// One of them.
    pub fn get(&self, name: &str) -> Field<'a> {
        let value = match self.map {
            Some(map) => map.get(name).filter(|value| !value.is_null()),
            // That it is no object has been said already.
            None => Some(&Value::Null),
        };
        let dot = if self.place.is_empty() { "" } else { "." };
        Field { value, place: format!("{}{dot}{name}", self.place), mistakes: self.mistakes }
    }

    /// Which of `names` is there, if it is exactly one.
    pub fn only<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        let map = self.map?;
        let given = |name: &&&str| map.get(**name).is_some_and(|value| !value.is_null());
        let mut present = names.iter().filter(given);
        if let (Some(name), None) = (present.next(), present.next()) {
            return Some(name);
        }
        self.mistakes.add(&self.place, format_args!("exactly one of {} is wanted", names.join(", ")));
        None
    }
}

/// Enough of a value to know it again.
fn shortened(value: &Value) -> String {
    const LONGEST: usize = 40;
    let text = value.to_string();
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain("...".chars()).collect()
}
