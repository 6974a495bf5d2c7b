//! What can be wrong with an expression.

/// What is wrong with an expression, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("column {column}: {message}")]
pub struct ExpressionError {
    /// The place in the expression: characters, counted from 1.
    pub column: usize,
    /// What was met and what was expected.
    pub message: String,
}

impl ExpressionError {
    /// The same error; of a message that quotes a long part of the expression, the begin and the end.
    pub(super) fn shortened(self) -> ExpressionError {
        const EACH: usize = 150;
        let count = self.message.chars().count();
        if count <= 3 * EACH {
            return self;
        }
        let begin: String = self.message.chars().take(EACH).collect();
        let end: String = self.message.chars().skip(count - EACH).collect();
        ExpressionError { message: format!("{begin} … {end}"), ..self }
    }
}
