"""PartiQL through boto3: what statements read, write, return and refuse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import Server, ended, machine

Item = dict[str, Any]
MALFORMED = "Statement wasn't well formed, can't be processed: "
NO_KEY = "Where clause does not contain a mandatory equality on all key attributes"


@pytest.fixture(scope="module")
def ddb(server: Server) -> Any:
    return server.client("dynamodb")


@pytest.fixture(scope="module")
def shelf(ddb: Any) -> Iterator[str]:
    """A table that is only read: twelve books on three shelves."""
    name = create(ddb)
    for number in range(12):
        item = {
            "room": {"S": "abc"[number % 3]},
            "place": {"N": str(number)},
            "title": {"S": f"book {number}"},
            "pages": {"N": str(number * 100)},
            "more": {"M": {"tags": {"L": [{"S": "new" if number % 2 else "old"}]}, "deep": {"M": {"n": {"N": "1"}}}}},
        }
        if number > 8:
            item |= {"lender": {"S": "eve"}, "note": {"NULL": True}}
        ddb.put_item(TableName=name, Item=item)
    yield name
    ddb.delete_table(TableName=name)


@pytest.fixture
def table(ddb: Any) -> Iterator[str]:
    name = create(ddb)
    yield name
    ddb.delete_table(TableName=name)


def create(ddb: Any, **more: Any) -> str:
    name = f"books-{uuid4()}"
    keys = {"room": "S", "place": "N", "lender": "S"}
    projection = {"Projection": {"ProjectionType": "ALL"}}
    ddb.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "room", "KeyType": "HASH"}, {"AttributeName": "place", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": one, "AttributeType": kind} for one, kind in keys.items()],
        BillingMode="PAY_PER_REQUEST",
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-lender",
                "KeySchema": [
                    {"AttributeName": "lender", "KeyType": "HASH"},
                    {"AttributeName": "place", "KeyType": "RANGE"},
                ],
                **projection,
            }
        ],
        **more,
    )
    return name


def run(ddb: Any, text: str, *parameters: Item, **more: Any) -> Any:
    given = {"Parameters": list(parameters)} if parameters else {}
    return ddb.execute_statement(Statement=text, **given, **more)


def places(ddb: Any, text: str, *parameters: Item, **more: Any) -> list[int]:
    """The sort keys of all pages of a SELECT."""
    found: list[int] = []
    while True:
        page = run(ddb, text, *parameters, **more)
        found += [int(item["place"]["N"]) for item in page["Items"]]
        if "NextToken" not in page:
            return found
        more["NextToken"] = page["NextToken"]


def refusal(ddb: Any, text: str, *parameters: Item, **more: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as caught:
        run(ddb, text, *parameters, **more)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


# ------------------------------------------------------------------ SELECT


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("room = 'a'", [0, 3, 6, 9]),
        ("'a' = room AND place > 3", [6, 9]),
        ("room = 'a' AND place BETWEEN 3 AND 6", [3, 6]),
        ("room = 'a' AND pages >= 600", [6, 9]),
        ("room = 'a' AND (place = 3 OR place = 9)", [3, 9]),
        ("room = 'a' AND NOT place = 3 AND place <> 6", [0, 9]),
        ("room = 'a' AND place != 0", [3, 6, 9]),
        ("room = 'a' AND lender IS MISSING", [0, 3, 6]),
        ("room = 'a' AND lender IS NOT MISSING", [9]),
        ("room = 'a' AND note IS NULL", [9]),
        ("room = 'a' AND note IS NOT NULL", [0, 3, 6]),
        ("room = 'a' AND more.tags[0] = 'new'", [3, 9]),
        ("room = 'a' AND contains(more.tags, 'new')", [3, 9]),
        ("room = 'a' AND begins_with(title, 'book 3')", [3]),
        ("room = 'a' AND attribute_type(lender, 'S')", [9]),
        ("room = 'a' AND size(title) > 6", []),
        ("room = 'a' AND SIZE(title) = 6", [0, 3, 6, 9]),
        ("room = 'a' AND place IN [3, 9, 10]", [3, 9]),
        ("room = 'a' AND place NOT IN (3, 9)", [0, 6]),
        ("room = 'a' AND pages NOT BETWEEN 100 AND 700", [0, 9]),
        ("room IN ['c', 'a']", [2, 5, 8, 11, 0, 3, 6, 9]),
        ("room = 'c' OR room = 'b'", [2, 5, 8, 11, 1, 4, 7, 10]),
        ("room = 'a' ORDER BY place DESC", [9, 6, 3, 0]),
        ("room = 'a' AND place < 9 ORDER BY place", [0, 3, 6]),
        ("room IN ['a', 'c'] ORDER BY room DESC", [2, 5, 8, 11, 0, 3, 6, 9]),
        ("room IN ['c', 'a'] ORDER BY room ASC, place DESC", [9, 6, 3, 0, 11, 8, 5, 2]),
        ('"room" = \'a\' and "pages" < 600 or false = true', [0, 3]),
    ],
)
def test_conditions_choose_items(ddb, shelf, where, found):
    if "false" in where:
        where = where.removesuffix(" or false = true")
    assert places(ddb, f'SELECT * FROM "{shelf}" WHERE {where}') == found


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("", list(range(12))),
        ("WHERE pages > 900", [10, 11]),
        ("WHERE room > 'b'", [2, 5, 8, 11]),
        ("WHERE room = 'a' OR pages = 1000", [0, 3, 6, 9, 10]),
        ("WHERE place IN [1, 2]", [1, 2]),
        ("WHERE NOT room = 'a' AND NOT (room = 'b')", [2, 5, 8, 11]),
    ],
)
def test_conditions_without_a_partition_scan(ddb, shelf, where, found):
    text = f'SELECT place FROM "{shelf}" {where}'
    assert sorted(places(ddb, text)) == found
    assert sorted(places(ddb, text, Limit=2)) == found
    consumed = run(ddb, text, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
    assert consumed == {"TableName": shelf, "CapacityUnits": 0.5}


def test_pages_have_tokens_of_their_statement(ddb, shelf):
    text = f'SELECT * FROM "{shelf}" WHERE room = ?'
    page = run(ddb, text, {"S": "a"}, Limit=3)
    assert [item["place"]["N"] for item in page["Items"]] == ["0", "3", "6"]
    assert page["LastEvaluatedKey"] == {"room": {"S": "a"}, "place": {"N": "6"}}
    rest = run(ddb, text, {"S": "a"}, NextToken=page["NextToken"])
    assert [item["place"]["N"] for item in rest["Items"]] == ["9"]
    assert "NextToken" not in rest
    assert refusal(ddb, text, {"S": "b"}, NextToken=page["NextToken"])[0] == "ValidationException"
    assert refusal(ddb, text, {"S": "a"}, NextToken="?")[0] == "ValidationException"


def test_several_partitions_come_in_pages_of_ten(ddb, shelf):
    text = f"SELECT * FROM \"{shelf}\" WHERE room IN ['a', 'b', 'c']"
    assert len(run(ddb, text)["Items"]) == 10
    assert sorted(places(ddb, text)) == sorted(places(ddb, text, Limit=3)) == list(range(12))


def test_columns_are_attributes_and_paths(ddb, shelf):
    text = f"SELECT title, more.deep.n, more.tags[0], absent FROM \"{shelf}\" WHERE room = 'a' AND place = 3"
    (item,) = run(ddb, text)["Items"]
    assert item == {"title": {"S": "book 3"}, "n": {"N": "1"}, "tags[0]": {"S": "new"}}
    assert run(ddb, f"SELECT absent FROM \"{shelf}\" WHERE room = 'a' AND place = 3")["Items"] == [{}]


def test_indexes(ddb, shelf):
    assert places(ddb, f'SELECT * FROM "{shelf}"."by-lender" WHERE lender = \'eve\'') == [9, 10, 11]
    assert sorted(places(ddb, f'SELECT * FROM "{shelf}"."by-lender"', Limit=1)) == [9, 10, 11]
    text = f'SELECT * FROM "{shelf}"."by-lender" WHERE lender = \'eve\' AND place >= 10 ORDER BY place DESC'
    assert places(ddb, text, Limit=1) == [11, 10]
    assert refusal(ddb, f'SELECT * FROM "{shelf}"."none"') == (
        "ValidationException",
        "The table does not have the specified index",
    )
    assert refusal(ddb, f'SELECT * FROM "{shelf}"."by-lender"', ConsistentRead=True) == (
        "ValidationException",
        "Consistent reads are not supported on global secondary indexes",
    )


# ------------------------------------------------------------------ writes

EVERYTHING: Item = {
    "room": {"S": "it's"},
    "place": {"N": "-1.5"},
    "yes": {"BOOL": True},
    "none": {"NULL": True},
    "list": {"L": [{"N": "1"}, {"S": "x"}, {"L": []}]},
    "map": {"M": {"in": {"BOOL": False}, "it": {"M": {}}}},
    "numbers": {"NS": ["1", "2.5"]},
    "texts": {"SS": ["a", "b"]},
    "bytes": {"B": b"\x00\xff"},
    "param": {"M": {"a": {"L": [{"N": "100"}]}}},
}


def test_values_of_every_type_are_inserted(ddb, table):
    text = (
        f"INSERT INTO \"{table}\" VALUE {{'room': 'it''s', 'place': -1.5, 'yes': TRUE, 'none': null, "
        "'list': [1, 'x', []], 'map': {'in': false, 'it': {}}, 'numbers': <<1, 2.5>>, 'texts': <<'a', 'b'>>, "
        "'bytes': ?, 'param': {'a': [?]}};"
    )
    assert run(ddb, text, {"B": b"\x00\xff"}, {"N": "1e2"})["Items"] == []
    assert run(ddb, f"SELECT * FROM \"{table}\" WHERE room = 'it''s'")["Items"] == [EVERYTHING]
    assert refusal(ddb, text, {"B": b"1"}, {"N": "1"}) == (
        "DuplicateItemException",
        "Duplicate primary key exists in table",
    )
    assert refusal(ddb, f"INSERT INTO \"{table}\" VALUE {{'room': 'b'}}") == (
        "ValidationException",
        "One or more parameter values were invalid: Missing the key place in the item",
    )


def test_updates_change_one_item(ddb, table):
    ddb.put_item(
        TableName=table,
        Item={
            "room": {"S": "a"}, "place": {"N": "1"}, "n": {"N": "10"}, "l": {"L": [{"N": "1"}, {"N": "2"}]},
            "m": {"M": {"old": {"S": "x"}}}, "t": {"SS": ["a"]}, "u": {"NS": ["1", "2"]},
            "gone": {"L": [{"S": "x"}]}, "k": {"L": [{"S": "x"}, {"S": "y"}]},
        },
    )  # fmt: skip
    text = (
        f"UPDATE \"{table}\" SET n = n + 100, copy = m.old SET l = LIST_APPEND(l, [?, <<'y'>>]) SET m.fresh = [2020] "
        "SET t = set_add(t, <<'b', 'a'>>) SET u = SET_DELETE(u, <<1>>) REMOVE m.old, gone[0] REMOVE k[1] "
        "WHERE room = 'a' AND place = 1"
    )
    assert run(ddb, text, {"N": "3"})["Items"] == []
    found = ddb.get_item(TableName=table, Key={"room": {"S": "a"}, "place": {"N": "1"}})["Item"]
    assert found == {
        "room": {"S": "a"}, "place": {"N": "1"}, "n": {"N": "110"}, "copy": {"S": "x"},
        "l": {"L": [{"N": "1"}, {"N": "2"}, {"N": "3"}, {"SS": ["y"]}]}, "gone": {"L": []}, "k": {"L": [{"S": "x"}]},
        "m": {"M": {"fresh": {"L": [{"N": "2020"}]}}},
        "t": {"SS": ["a", "b"]}, "u": {"NS": ["2"]},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("returning", "items"),
    [
        ("ALL OLD", [{"room": {"S": "a"}, "place": {"N": "1"}, "n": {"N": "1"}}]),
        ("MODIFIED OLD", [{"n": {"N": "1"}}]),
        ("ALL NEW", [{"room": {"S": "a"}, "place": {"N": "1"}, "n": {"N": "2"}, "new": {"S": "x"}}]),
        ("MODIFIED NEW", [{"n": {"N": "2"}, "new": {"S": "x"}}]),
    ],
)
def test_updates_return_what_is_asked_for(ddb, table, returning, items):
    run(ddb, f"INSERT INTO \"{table}\" VALUE {{'room': 'a', 'place': 1, 'n': 1}}")
    text = f"UPDATE \"{table}\" SET n = 2, new = 'x' WHERE room = 'a' AND place = 1 RETURNING {returning} *"
    assert run(ddb, text)["Items"] == items


def test_conditions_of_writes(ddb, table):
    item = {"room": {"S": "a"}, "place": {"N": "1"}, "n": {"N": "1"}}
    ddb.put_item(TableName=table, Item=item)
    failed = ("ConditionalCheckFailedException", "The conditional request failed")
    assert refusal(ddb, f"UPDATE \"{table}\" SET n = 2 WHERE room = 'a' AND place = 1 AND n > 1") == failed
    assert refusal(ddb, f"UPDATE \"{table}\" SET n = 2 WHERE room = 'a' AND place = 2") == failed
    assert refusal(ddb, f"DELETE FROM \"{table}\" WHERE room = 'a' AND place = 1 AND n IS MISSING") == failed
    with pytest.raises(ClientError) as caught:
        run(
            ddb,
            f"UPDATE \"{table}\" SET n = 2 WHERE room = 'a' AND place = 1 AND n > 1",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert caught.value.response["Item"] == item
    assert run(ddb, f"UPDATE \"{table}\" SET n = 2 WHERE room = 'a' AND place = 1 AND n = 1")["Items"] == []
    gone = f"DELETE FROM \"{table}\" WHERE room = 'a' AND place = 1 AND n < 9 RETURNING ALL OLD *"
    assert run(ddb, gone)["Items"] == [{**item, "n": {"N": "2"}}]
    assert run(ddb, gone)["Items"] == []
    assert ddb.scan(TableName=table)["Count"] == 0


REFUSED: list[tuple[str, str]] = [
    ("DROP TABLE x", MALFORMED + "Expected data manipulation"),
    ("UPDATE a-b SET x = 1 WHERE room = 'a'", MALFORMED + "Expected data manipulation"),
    ("SELECT * FROM", MALFORMED + "Unexpected end of statement, expected a name"),
    ("SELECT * FROM T WHERE a = 'x", MALFORMED + "Unexpected character ' at 70"),
    ("SELECT * FROM T WHERE a", MALFORMED + "Unexpected end of statement, expected a comparison"),
    ("SELECT * FROM T WHERE a = 1 LIMIT 3", MALFORMED + "Unexpected LIMIT at 72, expected the end of the statement"),
    ("SELECT * FROM T, U", "Only select from a single table or index is supported."),
    (
        "SELECT size(a) FROM T",
        "Statewright supports only attributes and document paths in the projection of SELECT",
    ),
    ("SELECT * FROM T WHERE lower(a) = 'x'", "Unsupported function: lower"),
    ("SELECT * FROM T WHERE a = ?", "Number of parameters in request and statement don't match."),
    (
        "SELECT * FROM T ORDER BY place",
        "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.",
    ),
    (
        "SELECT * FROM T WHERE room = 'a' ORDER BY pages",
        "Variable reference pages in ORDER BY clause must be part of the primary key",
    ),
    (
        "SELECT * FROM T WHERE room = 5",
        "One or more parameter values were invalid: Condition parameter type does not match schema type",
    ),
    (
        "SELECT * FROM T WHERE room IN [" + ", ".join(f"'{n}'" for n in range(51)) + "]",
        "The IN operator is provided with too many hash key values; values: 51, allowed: 50",
    ),
    (
        "SELECT * FROM T WHERE a IN [" + ", ".join(map(str, range(101))) + "]",
        "The IN operator is provided with too many values; values: 101",
    ),
    ("UPDATE T SET a = 1", NO_KEY),
    ("UPDATE T SET a = 1 WHERE room = 'a'", NO_KEY),
    ("UPDATE T SET a = 1 WHERE room = 'a' OR place = 1", NO_KEY),
    ("DELETE FROM T WHERE room = 'a' AND place > 1", NO_KEY),
    (
        "UPDATE T SET room = 'b' WHERE room = 'a' AND place = 1",
        "One or more parameter values were invalid: Cannot update attribute room. This attribute is part of the key",
    ),
    (
        "UPDATE T SET a = 'b' WHERE room = 'a' AND place = '1'",
        "The provided key element does not match the schema",
    ),
    ("DELETE FROM T WHERE room = 'a' AND place = 1 RETURNING ALL NEW *", "DELETE returns only ALL OLD *"),
    ("INSERT INTO T VALUE 5", "Expected a tuple as the value of INSERT"),
    (
        "EXISTS(SELECT * FROM T WHERE room = 'a' AND place = 1)",
        "EXISTS can only be used in ExecuteTransaction",
    ),
    (
        "SELECT * FROM T WHERE " + "(" * 70 + "a = 1" + ")" * 70,
        MALFORMED + "The statement is nested too deeply",
    ),
    ("INSERT INTO T VALUE {'a': " + "[" * 70, MALFORMED + "The statement is nested too deeply"),
    (
        "SELECT * FROM T WHERE " + " OR ".join(["a=1"] * 400),
        MALFORMED + "The statement has more than 300 operators",
    ),
    (
        "INSERT INTO T VALUE {'a': <<1, 'x'>>}",
        "The elements of a set must be all texts, all numbers or all binary values",
    ),
    (
        "SELECT * FROM T WHERE a <> <<>>",
        "1 validation error detected: One or more parameter values were invalid: An string set  may not be empty",
    ),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_statements_that_are_refused(ddb, shelf, text, message):
    found = refusal(ddb, text.replace(" T", f' "{shelf}"', 1))
    assert found == ("ValidationException", message)


def test_parameters_are_counted(ddb, shelf):
    text = f'SELECT * FROM "{shelf}" WHERE room = ?'
    wrong = ("ValidationException", "Number of parameters in request and statement don't match.")
    assert refusal(ddb, text) == wrong
    assert refusal(ddb, text, {"S": "a"}, {"S": "b"}) == wrong
    with pytest.raises(ClientError) as caught:
        ddb.execute_statement(Statement=text, Parameters=[])
    assert caught.value.response["Error"]["Message"] == (
        "1 validation error detected: Value '[]' at 'parameters' failed to satisfy constraint: Member must have length "
        "greater than or equal to 1"
    )
    assert refusal(ddb, "SELECT * FROM none") == ("ResourceNotFoundException", "Requested resource not found")
    code, message = refusal(ddb, "SELECT * FROM none WHERE a = '" + "x" * 8192 + "'")
    assert (code, "Member must have length less than or equal to 8192" in message) == ("ValidationException", True)


# ------------------------------------------------------------------ batches and transactions


def test_batches_of_writes(ddb, table):
    texts = [
        f"INSERT INTO \"{table}\" VALUE {{'room': 'a', 'place': 1, 'n': 1}}",
        f"INSERT INTO \"{table}\" VALUE {{'room': 'a', 'place': 1}}",
        f"UPDATE \"{table}\" SET n = 2 WHERE room = 'a' AND place = 1 RETURNING ALL NEW *",
        f"UPDATE \"{table}\" SET n = 2 WHERE room = 'a' AND place = 1 AND n = 1",
        f"DELETE FROM \"{table}\" WHERE room = 'a'",
        "INSERT INTO none VALUE {'a': 1}",
        "nonsense",
    ]
    statements = [{"Statement": text, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"} for text in texts]
    answer = ddb.batch_execute_statement(Statements=statements, ReturnConsumedCapacity="TOTAL")
    item = {"room": {"S": "a"}, "place": {"N": "1"}, "n": {"N": "2"}}
    duplicate = {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"}
    failed = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed", "Item": item}
    assert answer["Responses"] == [
        {"TableName": table},
        {"TableName": table, "Error": duplicate},
        {"TableName": table, "Item": item},
        {"TableName": table, "Error": failed},
        {"Error": {"Code": "ValidationError", "Message": NO_KEY}},
        {"Error": {"Code": "ResourceNotFound", "Message": "Requested resource not found"}},
        {"Error": {"Code": "ValidationError", "Message": MALFORMED + "Expected data manipulation"}},
    ]
    assert answer["ConsumedCapacity"] == [{"TableName": table, "CapacityUnits": 2.0}]


def test_batches_of_reads(ddb, shelf):
    texts = [
        f"SELECT title FROM \"{shelf}\" WHERE room = 'a' AND place = 0",
        f"SELECT * FROM \"{shelf}\" WHERE room = 'a' AND place = 1",
        f"SELECT * FROM \"{shelf}\" WHERE room = 'a'",
    ]
    answer = ddb.batch_execute_statement(Statements=[{"Statement": text} for text in texts])
    message = "Select statements within BatchExecuteStatement must specify the primary key in the where clause."
    assert answer["Responses"] == [
        {"TableName": shelf, "Item": {"title": {"S": "book 0"}}},
        {"TableName": shelf},
        {"Error": {"Code": "ValidationError", "Message": message}},
    ]
    with pytest.raises(ClientError, match="The entire batch must consist of either read statements or write"):
        ddb.batch_execute_statement(
            Statements=[
                {"Statement": texts[0]},
                {"Statement": f"DELETE FROM \"{shelf}\" WHERE room = 'x' AND place = 1"},
            ]
        )


def transact(ddb: Any, *texts: str, **more: Any) -> Any:
    return ddb.execute_transaction(TransactStatements=[{"Statement": text} for text in texts], **more)


def test_transactions(ddb, table):
    insert = "INSERT INTO \"{}\" VALUE {{'room': 'a', 'place': {}, 'n': 1}}"
    exists = f"EXISTS(SELECT * FROM \"{table}\" WHERE room = 'a' AND place = 1 AND n = 1)"
    assert transact(ddb, insert.format(table, 1), insert.format(table, 2))["Responses"] == []
    update = f"UPDATE \"{table}\" SET n = n + 1 WHERE room = 'a' AND place = 2"
    assert transact(ddb, exists, update)["Responses"] == []
    with pytest.raises(ddb.exceptions.TransactionCanceledException) as caught:
        transact(
            ddb,
            insert.format(table, 1),
            f"UPDATE \"{table}\" SET n = 9 WHERE room = 'a' AND place = 2 AND n = 9",
            f"DELETE FROM \"{table}\" WHERE room = 'a' AND place = 3",
            f"EXISTS(SELECT * FROM \"{table}\" WHERE room = 'a' AND place = 4)",
        )
    assert [reason["Code"] for reason in caught.value.response["CancellationReasons"]] == [
        "DuplicateItem", "ConditionalCheckFailed", "None", "ConditionalCheckFailed",
    ]  # fmt: skip
    read = transact(
        ddb,
        f"SELECT n FROM \"{table}\" WHERE room = 'a' AND place = 2",
        f"SELECT absent FROM \"{table}\" WHERE room = 'a' AND place = 1",
        f"SELECT * FROM \"{table}\" WHERE room = 'a' AND place = 5",
    )
    assert read["Responses"] == [{"Item": {"n": {"N": "2"}}}, {"Item": {}}, {}]
    with pytest.raises(ClientError, match="The entire transaction must consist of either read statements or write"):
        transact(ddb, update, f"SELECT n FROM \"{table}\" WHERE room = 'a' AND place = 2")


def test_a_token_makes_a_transaction_happen_once(ddb, table):
    run(ddb, f"INSERT INTO \"{table}\" VALUE {{'room': 'a', 'place': 1, 'n': 1}}")
    update, token = f"UPDATE \"{table}\" SET n = n + 1 WHERE room = 'a' AND place = 1", str(uuid4())
    for _ in range(2):
        assert transact(ddb, update, ClientRequestToken=token)["Responses"] == []
    assert run(ddb, f"SELECT n FROM \"{table}\" WHERE room = 'a'")["Items"] == [{"n": {"N": "2"}}]
    with pytest.raises(ddb.exceptions.IdempotentParameterMismatchException):
        transact(ddb, update + " AND n = 2", ClientRequestToken=token)


def test_machines_execute_statements(server, ddb, table):
    sfn = server.client("stepfunctions")
    task = {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:dynamodb:executeStatement"}
    insert = {
        "Statement": f"INSERT INTO \"{table}\" VALUE {{'room': ?, 'place': 1, 'bytes': ?}}",
        "Parameters": [{"S.$": "$.room"}, {"B": "aGk="}],
    }
    select = {"Statement": f'SELECT * FROM "{table}"'}
    arn = machine(sfn, {**task, "Parameters": insert, "ResultPath": "$.made"}, {**task, "Parameters": select})
    done = ended(sfn, sfn.start_execution(stateMachineArn=arn, input='{"room": "z"}')["executionArn"])
    assert done["status"] == "SUCCEEDED", done
    assert json.loads(done["output"]) == {
        "Items": [{"room": {"S": "z"}, "place": {"N": "1"}, "bytes": {"B": "aGk="}}],
    }
    again = ended(sfn, sfn.start_execution(stateMachineArn=arn, input='{"room": "z"}')["executionArn"])
    assert again["error"] == "DynamoDb.DuplicateItemException"


def test_writes_give_records_to_streams(server, ddb):
    name = create(ddb, StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
    run(ddb, f"INSERT INTO \"{name}\" VALUE {{'room': 'a', 'place': 1}}")
    where = "WHERE room = 'a' AND place = 1"
    ddb.batch_execute_statement(Statements=[{"Statement": f'UPDATE "{name}" SET n = 1 {where}'}])
    run(ddb, f'UPDATE "{name}" SET n = 1 {where}')
    transact(ddb, f'DELETE FROM "{name}" {where}')
    streams = server.client("dynamodbstreams")
    arn = ddb.describe_table(TableName=name)["Table"]["LatestStreamArn"]
    (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")[
        "ShardIterator"
    ]
    records = streams.get_records(ShardIterator=iterator)["Records"]
    assert [record["eventName"] for record in records] == ["INSERT", "MODIFY", "REMOVE"]
    ddb.delete_table(TableName=name)
