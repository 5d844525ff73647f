//! Makes text of models, tools and notes inert before it enters a buffer.
