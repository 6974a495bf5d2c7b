//! Validates values against JSON Schema, as far as the document of the server uses it.

use regex::Regex;
use serde_json::Value;

/// Says what of a value is not as a schema wants it; `document` is what `$ref` leads into.
pub(crate) fn faults(document: &Value, schema: &Value, value: &Value, place: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (keyword, wanted) in schema.as_object().expect("a schema") {
        let mut fault = |is_right: bool, what: &str| {
            if !is_right {
                found.push(format!("{place}: {what}: {value}"));
            }
        };
        match keyword.as_str() {
            "description" => {}
            "$ref" => {
                let pointer = wanted.as_str().unwrap().trim_start_matches('#');
                let schema = document.pointer(pointer).unwrap_or_else(|| panic!("no {pointer}"));
                found.extend(faults(document, schema, value, place));
            }
            "oneOf" => {
                let fits = |schema: &&Value| faults(document, schema, value, place).is_empty();
                let fitting = wanted.as_array().unwrap().iter().filter(fits).count();
                fault(fitting == 1, &format!("{fitting} of the alternatives fit"));
            }
            "type" => fault(is_of(value, wanted.as_str().unwrap()), &format!("no {wanted}")),
            "enum" => {
                fault(wanted.as_array().unwrap().contains(value), &format!("not in {wanted}"))
            }
            "minimum" => fault(value.as_f64() >= wanted.as_f64(), "too small"),
            "maximum" => fault(value.as_f64() <= wanted.as_f64(), "too large"),
            "minItems" => fault(length(value) >= wanted.as_u64(), "too few"),
            "maxItems" => fault(length(value) <= wanted.as_u64(), "too many"),
            "pattern" => {
                let pattern = Regex::new(wanted.as_str().unwrap()).unwrap();
                fault(value.as_str().is_some_and(|text| pattern.is_match(text)), "no match");
            }
            "required" => {
                for name in wanted.as_array().unwrap() {
                    fault(
                        value.get(name.as_str().unwrap()).is_some(),
                        &format!("{name} is missing"),
                    );
                }
            }
            "items" => {
                for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                    found.extend(faults(document, wanted, item, &format!("{place}/{number}")));
                }
            }
            "properties" => {
                for (name, schema) in wanted.as_object().unwrap() {
                    if let Some(part) = value.get(name) {
                        found.extend(faults(document, schema, part, &format!("{place}/{name}")));
                    }
                }
            }
            "additionalProperties" if wanted == false => {
                for name in value.as_object().into_iter().flat_map(|object| object.keys()) {
                    fault(
                        schema["properties"].get(name).is_some(),
                        &format!("{name} is not in it"),
                    );
                }
            }
            "additionalProperties" => {}
            other => panic!("{other} is not checked"),
        }
    }
    found
}

fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("{other} is not checked"),
    }
}

fn length(value: &Value) -> Option<u64> {
    value.as_array().map(|items| items.len() as u64)
}
