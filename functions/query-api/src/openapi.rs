//! The API's machine-readable description, from the model: OpenAPI 3.1, with an operation for each question.

mod parameter;
mod schema;

use keyfold_core::model::{Model, Question, Table};
use keyfold_edge::{Auth, PROBLEM_CONTENT_TYPE};
use serde_json::{Map, Value, json};

/// The document that `GET /openapi.json` answers with.
pub fn openapi(model: &Model, auth: Auth) -> Value {
    let mut paths = Map::new();
    paths.insert(
        "/query".to_owned(),
        json!({ "post": request_operation("query", "Answers a request", "Answer") }),
    );
    paths.insert(
        "/explain".to_owned(),
        json!({ "post": request_operation("explain", "Plans a request and reads nothing", "Explanation") }),
    );
    for (id, summary) in [
        ("put", "Writes an item, with its folded keys"),
        ("update", "Changes attributes of an item, and the folded keys made of them"),
        ("delete", "Deletes an item"),
    ] {
        if !model.deploy.query_api_writes.is_empty() {
            let operation = write_operation(id, summary);
            paths.insert(format!("/{id}"), json!({ "post": operation }));
        }
    }
    for question in &model.questions {
        if let Some(table) = model.table(&question.table) {
            let path = format!("/tables/{}/questions/{}", question.table, question.name);
            paths.insert(path, json!({ "get": question_operation(table, question) }));
        }
    }
    paths.insert("/openapi.json".to_owned(), json!({ "get": plain_operation("openapi", "This document") }));
    paths.insert(
        "/health".to_owned(),
        json!({ "get": plain_operation("health", "Shows that the API runs; reads nothing") }),
    );
    let mut document = json!({
        "openapi": "3.1.0",
        "info": { "title": "Keyfold query API", "version": env!("CARGO_PKG_VERSION") },
        "paths": paths,
        "components": { "schemas": schema::components(model) },
    });
    if auth == Auth::Claims {
        document["components"]["securitySchemes"] =
            json!({ "claims": { "type": "http", "scheme": "bearer" } });
        document["security"] = json!([{ "claims": [] }]);
    }
    document
}

fn request_operation(id: &str, summary: &str, answer: &str) -> Value {
    json!({
        "operationId": id,
        "summary": summary,
        "parameters": [parameter::format()],
        "requestBody": { "required": true, "content": { "application/json": { "schema": reference("QueryRequest") } } },
        "responses": responses(&reference(answer)),
    })
}

fn write_operation(id: &str, summary: &str) -> Value {
    let body = match id {
        "put" => "PutRequest",
        "update" => "UpdateRequest",
        _ => "DeleteRequest",
    };
    let mut responses = responses(&reference("Written"));
    if let (Some(answers), "put") = (responses.as_object_mut(), id) {
        let written = answers.remove("200").unwrap_or_default();
        answers.insert("201".to_owned(), written);
    }
    json!({
        "operationId": id,
        "summary": summary,
        "requestBody": { "required": true, "content": { "application/json": { "schema": reference(body) } } },
        "responses": responses,
    })
}

fn question_operation(table: &Table, question: &Question) -> Value {
    let mut parameters: Vec<Value> = question
        .parameters()
        .iter()
        .filter_map(|condition| parameter::of_condition(table, question, condition))
        .collect();
    parameters.extend(parameter::own(question));
    let item = reference(&schema::item_name(table));
    let answer = json!({
        "allOf": [reference("Answer"), { "properties": { "items": { "items": item } } }],
    });
    json!({
        "operationId": format!("{}.{}", table.id, question.name),
        "tags": [table.id],
        "summary": format!("Question `{}` of table `{}`", question.name, table.id),
        "parameters": parameters,
        "responses": responses(&answer),
    })
}

fn plain_operation(id: &str, summary: &str) -> Value {
    json!({
        "operationId": id,
        "summary": summary,
        "security": [],
        "responses": { "200": { "description": "Success", "content": { "application/json": {} } } },
    })
}

fn responses(answer: &Value) -> Value {
    let content = json!({ (PROBLEM_CONTENT_TYPE): { "schema": reference("Problem") } });
    json!({
        "200": { "description": "The answer", "content": { "application/json": { "schema": answer } } },
        "default": { "description": "A problem document; `code` names the error", "content": content },
    })
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}
